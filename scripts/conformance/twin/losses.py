"""The losses of the embedded engine by torch, from their formulas in docs/losses.md: sums over the tokens of one sequence."""

import torch


def clipped(ratio, advantages, low, high):
    return -torch.minimum(ratio * advantages, ratio.clamp(low, high) * advantages)


def importance_sampling(logprobs, sampled, advantages, mask):
    return -torch.exp(logprobs - sampled) * advantages


def ppo(logprobs, sampled, advantages, mask):
    return clipped(torch.exp(logprobs - sampled), advantages, 0.8, 1.2)


def cispo(logprobs, sampled, advantages, mask):
    return -torch.exp(logprobs - sampled).clamp(0, 4).detach() * logprobs * advantages


def dro(logprobs, sampled, advantages, mask):
    return -(logprobs * advantages - 0.05 / 2 * (logprobs - sampled) ** 2)


def gspo(logprobs, sampled, advantages, mask):
    difference = logprobs - sampled
    mean = (difference * mask).sum() / mask.sum()
    # The ratio of the sequence, with the gradient of each token's own log-probability.
    ratio = torch.exp(mean.clamp(max=10).detach() + difference - difference.detach())
    return clipped(ratio, advantages, 0.9997, 1.0004)


POLICY = dict(importance_sampling=importance_sampling, ppo=ppo, cispo=cispo, dro=dro, gspo=gspo)


def loss(name, logprobs, sampled, advantages, mask):
    if name == "cross_entropy":
        return -logprobs.sum()
    return (POLICY[name](logprobs, sampled, advantages, mask) * mask).sum()
