"""The interview page: its six questions, answered.

The page asks six questions, and its answers did not come with it. Here are ours, each with the
lesson in which you can see it happen.

**1. Why embedding dimensions of 768 to 4,096, and not 64 or 16,384?**

A table has V times D numbers, and every layer behind it has several times D squared; so D is
chosen for the whole network, and the table comes along. Too narrow, and rows that should differ
cannot: one column is damage that a training curve shows (lesson 22). Too wide, and the numbers
cost memory and multiplications while few tokens of data fall to each (lesson 1). There is no law
that yields 768; heads of 64 columns and fast matrix products like such numbers.

**2. What is weight tying, and why does it help?**

One table reads tokens and scores the next one: logits = h E^T with the E of the lookup. It saves V
times D numbers. Each row then gets two gradients, one from being read and one from being scored,
so every row moves at every step, a rare one mostly by being pushed away (lessons 4 and 13). It
also ties two jobs that may want different lengths of rows: started like an ordinary table, a tied
model begins with a loss of hundreds. Whether it helps the loss depends on width and budget; the
lab tied_or_untied measures it.

**3. How do subword tokenizers handle words outside the vocabulary, at the embedding level?**

A word without a row is cut into pieces that have one; down at single bytes nothing is ever
without. The lookup reads several rows instead of one, and the gradient goes back to all of them,
so what is learned about a piece serves every word that holds it (lesson 7). The word's vector is
not the pieces set side by side: attention and the layers after it put them together.

**4. How would you measure whether trained embeddings capture similarity?**

Write down beforehand what would count. Then: nearest neighbours that a person judges, rank
correlation with ratings by people, analogies with and without the input words left out (lesson 18
shows how much that matters), and use in a task with the rows frozen. Always beside a random table
of the same shape, and beside a table trained on the same words in random order. Expect opposites
close together, for they keep the same company (`python -m lessons lab antonyms`).

**5. Why are learned rows better than one-hot codes?**

All one-hot codes are equally far apart, so nothing learned about one word carries over to another;
and a first layer on them is a table anyway: code times matrix is a lookup (lesson 10). Codes are
not "larger": nobody stores the zeros. The gain is that rows can be alike.

**6. How do positions interact with token rows, and why can a table of tokens not hold them?**

A lookup sees the id and nothing else, so the same word has the same row at every place; attention
by itself does not notice the order of its inputs either (lesson 15). So a second vector says where
a token stands. Usually the two are added: the sum is one point, but a matrix after it can read
either part as long as their directions do not coincide (lesson 2). How large each is, is a matter
of scale (lesson 5). Rotary positions leave the rows alone and turn queries and keys instead.
"""

from scratch_embed.lesson.claims import given, undecided

given("004-interview-count", "the page's own list; the answers stand above")
undecided(
    "004-break-it",
    "the page's section is lost but for its heading; lesson 22 has seven kinds of its own, and the "
    "lab `break_it` measures what each costs",
)
