"""Losses as a user of the official SDK writes them, and functions that the SDK cannot trace."""

import torch
import torch.nn.functional as F


def token_loss(logprobs, values, mask):
    return -(values * mask).sum(), {"custom/tokens:sum": mask.sum(), "custom/logprob:mean": (logprobs * mask).mean()}


def importance_sampling(logprobs, sampler_logprobs, advantages, mask):
    ratio = torch.exp(logprobs - sampler_logprobs)
    return token_loss(logprobs, ratio * advantages, mask)


def ppo(logprobs, sampler_logprobs, advantages, mask):
    ratio = torch.exp(logprobs - sampler_logprobs)
    clipped = torch.clamp(ratio, 0.8, 1.28)
    return token_loss(logprobs, torch.minimum(ratio * advantages, clipped * advantages), mask)


def ppo_dual_clip(logprobs, sampler_logprobs, advantages, mask):
    ratio = torch.exp(logprobs - sampler_logprobs)
    lower = torch.minimum(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages)
    bounded = torch.where(advantages < 0, torch.maximum(lower, 1.5 * advantages), lower)
    return token_loss(logprobs, bounded, mask)


def cispo(logprobs, sampler_logprobs, advantages, mask):
    weight = torch.exp(logprobs - sampler_logprobs).clamp(max=1.2).detach()
    return token_loss(logprobs, weight * logprobs * advantages, mask)


def dro(logprobs, sampler_logprobs, advantages, mask):
    beta = 0.05
    return token_loss(logprobs, logprobs * advantages - 0.5 * beta * (logprobs - sampler_logprobs) ** 2, mask)


def gspo(logprobs, sampler_logprobs, advantages, mask):
    mean = ((logprobs - sampler_logprobs) * mask).sum() / mask.sum()
    ratio = torch.exp(logprobs - logprobs.detach() + mean.detach())
    return token_loss(logprobs, torch.minimum(ratio * advantages, ratio.clamp(0.9, 1.1) * advantages), mask)


def topr(logprobs, sampler_logprobs, advantages, mask):
    ratio = torch.exp(((logprobs - sampler_logprobs) * mask).sum()).detach()
    weight = torch.where(advantages > 0, torch.ones_like(logprobs), torch.clamp(ratio, 0.0, 1.0))
    return token_loss(logprobs, weight * logprobs * advantages, mask)


def gmpo(logprobs, sampler_logprobs, advantages, mask):
    sign = torch.sign(advantages)
    difference = logprobs - sampler_logprobs
    clipped = sign * torch.minimum(sign * difference, sign * difference.clamp(-0.4, 0.4))
    tokens = mask.sum()
    ratio = torch.exp((clipped * mask).sum() / tokens)
    return token_loss(logprobs, ratio * advantages / tokens, mask)


def sapo(logprobs, sampler_logprobs, advantages, mask):
    ratio = torch.exp(logprobs - sampler_logprobs)
    slope = torch.where(advantages > 0, torch.full_like(advantages, 1.0), torch.full_like(advantages, 1.05))
    return token_loss(logprobs, 4.0 / slope * torch.sigmoid(slope * (ratio - 1.0)) * advantages, mask)


def squared_log_ratio(logprobs, sampler_logprobs, advantages, mask):
    difference = advantages - 0.5 * (logprobs - sampler_logprobs)
    return token_loss(logprobs, -difference.square(), mask)


def icepop(logprobs, sampler_logprobs, advantages, mask):
    ratio = torch.exp(logprobs - sampler_logprobs)
    kept = ((ratio >= 0.5) & (ratio <= 2.0)).to(logprobs.dtype)
    return token_loss(logprobs, (ratio * kept).detach() * logprobs * advantages, mask)


def mixture(logprobs, sampler_logprobs, advantages, mask, alpha):
    ratio = torch.exp(logprobs - sampler_logprobs)
    return token_loss(logprobs, alpha * logprobs + (1 - alpha) * ratio * advantages, mask)


def logistic_preference(logprobs, reference, mask):
    margin = 0.1 * ((logprobs - reference) * mask).sum()
    return -F.logsigmoid(margin), {"custom/margin:mean": margin}


def entropic(logprobs, sampler_logprobs, advantages, mask):
    scores = (logprobs - sampler_logprobs) * advantages
    weights = torch.softmax(scores.detach().masked_fill(mask == 0, float("-inf")), dim=0)
    return token_loss(logprobs, weights * logprobs, mask)


LOSSES = [
    importance_sampling, ppo, ppo_dual_clip, cispo, dro, gspo, topr, gmpo, sapo, squared_log_ratio, icepop, mixture,
    logistic_preference, entropic,
]


def branches(logprobs, mask):
    loss = (logprobs * mask).sum()
    return (loss if loss > 0 else -loss), {}


def loops(logprobs, mask):
    return sum(logprobs[i] * mask[i] for i in range(len(logprobs))), {}


def measures(logprobs, mask):
    return (logprobs * mask).sum() / len(mask), {}


def leaves_torch(logprobs, mask):
    return (logprobs * mask).sum() * mask.mean().item(), {}


def has_default(logprobs, mask, beta=0.1):
    return beta * (logprobs * mask).sum(), {}


def reads_other_names(logprobs, **inputs):
    return (logprobs * inputs["mask"]).sum(), {}


def differentiates(logprobs, mask):
    loss = (logprobs * mask).sum()
    loss.backward()
    return loss, {}


WEIGHTS = torch.tensor([0.0, 1.0, 1.0])


def captures(logprobs, mask):
    return (logprobs * mask * WEIGHTS).sum(), {}


def uses_module(logprobs, mask):
    return torch.nn.SmoothL1Loss()(logprobs, mask), {}


def names_freely(logprobs, mask):
    loss = (logprobs * mask).sum()
    return loss, {"loss": loss}


def whole_batch(data, logprobs_list):
    return torch.stack([one.mean() for one in logprobs_list]).mean(), {}


UNTRACED = [
    (branches, "branches on the value of a tensor"),
    (loops, "a loop over positions"),
    (measures, "`len` of a tensor (`mask.shape[0]` is traced)"),
    (leaves_torch, "`.item()`, `.tolist()`, `.numpy()`"),
    (has_default, "a parameter with a default (a constant of the enclosing function is traced)"),
    (reads_other_names, "`**kwargs`"),
    (differentiates, "`.backward()` inside"),
    (captures, "a tensor from outside"),
    (uses_module, "modules of `torch.nn` (functions are traced)"),
    (names_freely, "metrics that are not called `custom/<name>:sum` or `:mean`"),
    (whole_batch, "a loss over several datums at once: it is called with one, and the losses are added up"),
]
