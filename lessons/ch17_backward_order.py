# %% [markdown]
# # 17. The order of backward
#
# Forward runs as we wrote it. Backward runs in an order that the machine chooses, and there is one
# rule for it:
#
# > A tensor may pass its gradient on only when all parts of it have arrived.
#
# The rule looks like a detail. It is the question that readers of small autograd programs ask
# most: why sort the graph at all? Why not go from each tensor straight into its inputs? We do just
# that here, get wrong numbers, and see where each of them comes from.

# %%
import sys

import numpy as np

from scratch_embed import Tensor
from scratch_embed.functional import cross_entropy, lookup
from scratch_embed.lesson import begin, compare, quiz, save_figure, show_trace, verdict, worked
from scratch_embed.ops.onehot import one_hot
from scratch_embed.ops.softmax import softmax_forward
from scratch_embed.tensor import tape
from scratch_embed.trace import trace

begin()

# %% [markdown]
# ## The smallest example
# Take a number and double it twice: $b = a + a$, then $c = b + b$. So $c = 4a$, and the derivative
# is 4 wherever we stand.

# %%
a = Tensor(1.0, requires_grad=True, name="a")
b = a + a
c = b + b
hand = worked.product("dc/da = 2 times 2", 2, 2)

# %% [markdown]
# The trace below reads the tape that these two lines left behind. Watch $b$ in the backward steps:
# it is used twice, so it collects two parts, and it passes on their sum. A gradient that nobody has
# computed yet is called that. It is not 0.

# %%
print(trace(c, b=b, c=c))

# %% [markdown]
# ## Straight into the inputs
# Here is the idea that needs no sorting. A part arrives; add it to what the tensor has; pass on
# what it has now; done. The backward functions are the same as before, only the order differs.


# %%
def eager(tensor: Tensor, part, grads: dict) -> dict:
    """Collect the part, and at once pass on all that has been collected."""
    grads[tensor] = grads.get(tensor, 0) + part
    if tensor.node:
        for parent, share in tensor.node.gradients(grads[tensor]):
            told.append((parent, share))
            eager(parent, share, grads)
    return grads


told: list = []
wrong = eager(c, np.ones(()), {})[a]
quiz(
    "own-ch17-eager",
    "b = a + a and c = b + b, so dc/da = 4. Go from c straight into its inputs, and let b pass on "
    "all that it has whenever a part arrives. Which gradient does a end up with?",
    wrong,
    tolerance=0,
    because="b has 1 when its first part arrives and 2 at the second, and passes each on twice: "
    "1 + 1 + 2 + 2. The first part is counted again with the second",
)
worked.sum("parts that reach a", *(float(share) for parent, share in told if parent is a))

# %% [markdown]
# It says 6. The first part arrives at $b$, which passes 1 on to $a$, twice. Then the second part
# arrives, and $b$ passes on 2, twice: the new part, and the first one **again**.
#
# The obvious repair is to enter each tensor once. Then $b$ never passes its second part on:


# %%
def once(tensor: Tensor, part, grads: dict) -> dict:
    """Collect the part; pass on what there is when the first part arrives, and never again."""
    first = tensor not in grads
    grads[tensor] = grads.get(tensor, 0) + part
    if tensor.node and first:
        for parent, share in tensor.node.gradients(grads[tensor]):
            once(parent, share, grads)
    return grads


short = once(c, np.ones(()), {})[a]
c.backward()
print(f"  dc/da   tape {a.grad}   eager recursion {wrong}   entering once {short}")

# %% [markdown]
# Too much, too little. Finite differences know nothing of graphs, and side with 4.

# %%
h = 2.0**-10  # a power of two: doubling is linear, so the slope is exact


def doubled(x: float, times: int) -> float:
    for _ in range(times):
        x = x + x
    return x


def slope_of_doubled(times: int) -> float:
    return (doubled(1.0 + h, times) - doubled(1.0 - h, times)) / (2 * h)


compare("dc/da", hand=hand, ours=a.grad, numeric=slope_of_doubled(2))

# %% [markdown]
# ## Right, and far too slow
# There is a recursion that is right: pass on each part by itself, never the sum. It adds up all
# paths from the end to $a$, which is what the chain rule says. But a chain of $n$ doublings has
# $2^n$ paths, and the tape has $n$ lines.


# %%
def every_path(tensor: Tensor, part, grads: dict) -> int:
    """Pass each part on by itself. Returns the number of parts handled."""
    grads[tensor] = grads.get(tensor, 0) + part
    shares = tensor.node.gradients(part) if tensor.node else ()
    return 1 + sum(every_path(parent, share, grads) for parent, share in shares)


doublings = 12
x = Tensor(1.0, requires_grad=True, name="x")
y = doubled(x, doublings)
by_path: dict = {}
calls = every_path(y, np.ones(()), by_path)
y.backward()
print(f"  {doublings} doublings: {calls:,} calls along all paths, {len(tape(y))} along the tape")
slope = slope_of_doubled(doublings)
compare(f"{doublings} doublings, tape", hand=2.0**doublings, ours=x.grad, numeric=slope)
compare(f"{doublings} doublings, all paths", hand=2.0**doublings, ours=by_path[x], numeric=slope)

# %% [markdown]
# So one sum for each tensor is what makes backward cheap, and waiting for the sum to be whole is
# what makes it right.
#
# ## A table used twice
# Language models often use one table for two things (Press and Wolf, 2017): to read tokens (lookup)
# and to score the next one (the tied projection, logits $= h E^\top$). Two uses, two parts of a
# gradient. By hand: the gradient of the logits is softmax minus one-hot, divided by the number of
# positions. One part reaches the table straight from the projection, the other by way of $h$.

# %%
rng = np.random.default_rng(17)
ids, targets = np.array([1, 2, 1]), np.array([2, 1, 3])


def tied_loss(table: Tensor) -> Tensor:
    return cross_entropy(lookup(table, ids) @ table.T, targets)


def two_parts(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The gradient of `tied_loss` by the table: from the lookup, and from the projection."""
    hidden = table[ids]
    dlogits = (softmax_forward(hidden @ table.T)[0] - one_hot(targets, len(table))) / len(ids)
    return one_hot(ids, len(table)).T @ (dlogits @ table), dlogits.T @ hidden


def slopes(tensor: Tensor, loss) -> np.ndarray:
    """Central differences of `loss()` by every entry of the tensor."""
    found, step = np.zeros(tensor.shape), 2.0**-17
    for at in np.ndindex(tensor.shape):
        kept = tensor.data[at]
        tensor.data[at] = kept + step
        above = loss().item()
        tensor.data[at] = kept - step
        below = loss().item()
        tensor.data[at] = kept
        found[at] = (above - below) / (2 * step)
    return found


# %% [markdown]
# Does the eager recursion fail on it?

# %%
E = Tensor(rng.normal(size=(4, 3)).round(2), requires_grad=True, name="E")
loss = tied_loss(E)
loss.backward()
by_eager = eager(loss, np.ones(()), {})[E]
from_lookup, from_projection = two_parts(E.numpy())
worked.sum("dE[1], lookup + projection", from_lookup[1], from_projection[1])

numeric = slopes(E, lambda: tied_loss(E))
compare("dE, tape", hand=from_lookup + from_projection, ours=E.grad, numeric=numeric)
compare("dE, eager", hand=from_lookup + from_projection, ours=by_eager, numeric=numeric)
print(f"  largest difference, eager recursion from tape: {np.abs(by_eager - E.grad).max():.1e}")

# %% [markdown]
# No: it is right, and that is how such a bug stays hidden. $E$ is a leaf. It collects its two parts
# and passes nothing on, so nothing can be passed on too early.
#
# Now let the table be computed. To save memory, a large table can be kept as a product of two thin
# ones, $E = A B$ (ALBERT does so: Lan et al., 2020). Then $E$ is no longer a leaf: what it collects
# goes on to $A$ and $B$.

# %%
A = Tensor(rng.normal(size=(4, 2)).round(2), requires_grad=True, name="A")
B = Tensor(rng.normal(size=(2, 3)).round(2), requires_grad=True, name="B")
E = A @ B
hidden = lookup(E, ids)
logits = hidden @ E.T
loss = cross_entropy(logits, targets)
walk = show_trace(loss, E=E, h=hidden, logits=logits)
loss.backward()

# %% [markdown]
# By hand, the sum of both parts goes on, and through the product $E = AB$ it goes to
# $dA = dE\,B^\top$ and $dB = A^\top dE$. The two recursions run on the same tape:

# %%
from_lookup, from_projection = two_parts(E.numpy())
dE = from_lookup + from_projection
dA, dB = dE @ B.numpy().T, A.numpy().T @ dE

by_eager = eager(loss, np.ones(()), {})
by_once = once(loss, np.ones(()), {})
sent_to_A = {
    "both parts of dE once: the right gradient": (1, 1),
    "the lookup's part alone": (1, 0),
    "the lookup's part twice, the projection's once": (2, 1),
    "the lookup's part once, the projection's twice": (1, 2),
}
(sent,) = (
    text for text, (read, scored) in sent_to_A.items()
    if np.allclose(by_eager[A], (read * from_lookup + scored * from_projection) @ B.numpy().T)
)  # fmt: skip
quiz(
    "own-ch17-computed-table",
    "Now E = A B is no leaf. The eager recursion enters h before it enters E from the other side. "
    "What does it make of the two parts of dE when it passes them on to A?",
    sent,
    options=list(sent_to_A),
    because="through h the lookup's part reaches E first, and goes on to A at once. When the "
    "projection's part arrives, E passes on the sum, and the first part with it again",
)
print("  row 1 of dA")
for name, grad in {"by hand": dA, "tape": A.grad, "eager recursion": by_eager[A],
                   "entering once": by_once[A]}.items():  # fmt: skip
    print(f"    {name:<16} {grad[1].round(6).tolist()}")

# %% [markdown]
# Both recursions are wrong, and we can say by what. They go into $h$ before $E^\top$, so the
# lookup's part arrives first. The eager recursion passes it on, and later passes on the sum, in
# which it stands once more: it is counted twice. Entering once passes on the lookup's part alone:
# the projection's part is lost.

# %%
twice = (2 * from_lookup + from_projection) @ B.numpy().T
compare("eager: lookup counted twice", hand=twice, ours=by_eager[A])
compare("once: projection lost", hand=from_lookup @ B.numpy().T, ours=by_once[A])

# %% [markdown]
# Finite differences decide.

# %%
slopes_A = slopes(A, lambda: tied_loss(A @ B))
compare("dA, tape", hand=dA, ours=A.grad, numeric=slopes_A)
compare("dB, tape", hand=dB, ours=B.grad, numeric=slopes(B, lambda: tied_loss(A @ B)))

# %% [markdown]
# The picture shows the moment at which the two recursions go wrong: $E$ has one of its two parts.
# It must wait.

# %%
reached = (k for k in range(len(walk) + 1) if "E" in walk.state(k).gradients)
waiting = next(k for k in reached if not walk.state(k).gradients["E"].complete)
save_figure(walk.figure(waiting), "ch17_one_of_two_parts.png")
save_figure(walk.figure(), "ch17_all_parts.png")

# %% [markdown]
# ## Where the order comes from
# The tape numbers its lines as they are written, and an operation can only use what is there
# already. So every tensor has a higher number than its inputs. Read from the highest number down,
# and whoever uses a tensor comes before it: by then all its parts have arrived. Sorting by that
# number is all that `backward()` does.

# %%
for tensor in tape(loss):
    if tensor.node:
        lines = [i.node.line if i.node else "leaf" for i in tensor.node.inputs
                 if isinstance(i, Tensor) and i.requires_grad]  # fmt: skip
        print(f"  line {tensor.node.line}  {tensor.node.name:<14} from lines {lines}")
        assert all(line == "leaf" or line < tensor.node.line for line in lines)

# %% [markdown]
# It is one right order among many. Textbooks reach another by a depth-first walk that notes a
# tensor when it leaves it, after all its inputs, and reads the notes from the end. Written with a
# stack of our own instead of recursion:


# %%
def depth_first(root: Tensor) -> list[Tensor]:
    """Every tensor after all its users. A stack holds the way down, so no graph is too deep."""
    left, seen, stack = [], {root}, [(root, iter(root.node.inputs if root.node else ()))]
    while stack:
        tensor, inputs = stack[-1]
        for parent in inputs:
            if isinstance(parent, Tensor) and parent.requires_grad and parent not in seen:
                seen.add(parent)
                stack.append((parent, iter(parent.node.inputs if parent.node else ())))
                break
        else:
            left.append(tensor)
            stack.pop()
    return left[::-1]


def backward_along(order: list[Tensor]) -> dict:
    """The gradients of all tensors, each passed on when its turn comes."""
    grads = {order[0]: np.ones(())}
    for tensor in order:
        for parent, share in tensor.node.gradients(grads[tensor]) if tensor.node else ():
            grads[parent] = grads.get(parent, 0) + share
    return grads


sorted_grads = backward_along(depth_first(loss))
compare("dA, depth-first order", hand=dA, ours=sorted_grads[A], numeric=slopes_A)

# %% [markdown]
# Could we keep the order and use it again? It would save little: the next batch runs forward anew
# and writes a new tape, and its lines come numbered.
#
# ## A long chain
# The stack matters. Multiply by $1 + 1/n$, $n$ times over, with $n$ = 10,000. The derivative is
# $(1 + 1/n)^n$, close to $e$. A sort that calls itself for every input goes 10,000 calls deep, and
# Python stops it long before.


# %%
def recursive_sort(tensor: Tensor, seen: set, left: list) -> list[Tensor]:
    seen.add(tensor)
    for parent in tensor.node.inputs if tensor.node else ():
        if isinstance(parent, Tensor) and parent not in seen:
            recursive_sort(parent, seen, left)
    left.append(tensor)
    return left


n = 10_000


def chain(x):
    for _ in range(n):
        x = x * (1 + 1 / n)
    return x


start = Tensor(1.0, requires_grad=True, name="start")
end = chain(start)
try:
    recursive_sort(end, set(), [])
    print(f"  recursion: went {n:,} calls deep, with a limit of {sys.getrecursionlimit():,}")
except RecursionError:
    print(f"  recursion: RecursionError at {sys.getrecursionlimit():,} calls, of {n:,} needed")

end.backward()
by_stack = backward_along(depth_first(end))[start]
print(f"  tape: {start.grad:.10f}   stack: {by_stack:.10f}   e: {np.e:.10f}")
compare("10,000 products", hand=(1 + 1 / n) ** n, ours=start.grad,
        numeric=(chain(1 + h) - chain(1 - h)) / (2 * h))  # fmt: skip

# %% [markdown]
# ## What to remember
# - A gradient is complete when every use of its tensor has sent its part.
# - Pass it on before, and parts are counted twice or lost. A leaf hides the mistake.
# - The lines of the tape, read from the last, are an order that never does. No recursion is needed.
#
# `python -m lessons 17 --trace` walks through the table used twice, one Enter a step.

# %%
verdict()
