# %% [markdown]
# # Lab: what travels, and which shard is the busiest?
#
# A table is cut into shards. In every step each worker asks the owners for the distinct rows of its
# part of the batch, and sends a gradient for each of them back. Lesson 24 does it by hand.
#
# **Question.** How many bytes is that in a step? And how uneven is the work of 8, 64 and 1,024
# shards when words follow Zipf's law: cut by range, by hash, and by hash with the hottest 256 rows
# copied to every worker, who then need not ask for them?
#
# **Guess.** Bytes: twice the distinct ids times D times 4, and little beside. Load: by range the
# first shard has nearly everything; by hash it is even enough, until shards are so many that one
# hot row is more than a shard's share.
#
# **Control.** Ids drawn evenly from all rows: there by range and by hash should be the same.
#
# **Baseline.** A perfectly even cut, where the busiest shard has the mean load: a ratio of 1.
#
# **Threshold**, written before the first run. Bytes: what really passes exceeds what is reckoned on
# paper by at most 5 % at D = 64, on every seed (a row is 256 bytes there, and its number 8: that is
# 3 % already). Load, the busiest shard over the mean, at the longest budget and for every seed: by
# range exceeds by hash by more than 2 at every number of shards; by hash stays below 1.5 with 8
# shards and exceeds 2 with 1,024; copies bring 1,024 shards nearer to 1 than hash by more than 0.5;
# in the control range and hash differ by less than 0.5.
