"""Computes with torch, transformers, peft and gguf what the embedded engine computed, and prints how far apart the two are.

    python3 compare.py <folder that models.py and engine.ts wrote to>
"""

import base64
import json
import os
import sys

import numpy as np
import torch
from gguf import GGMLQuantizationType
from gguf.quants import dequantize
from peft import PeftModel
from transformers import AutoModelForCausalLM

from losses import loss

# Threads would wait for each other where a model is smaller than this.
THREADED = 10**7


def distribution(model, ids):
    """The log-probabilities of all tokens after each token of a sequence."""
    return torch.log_softmax(model(torch.tensor([ids])).logits[0].double(), -1)


def logprobs(model, ids):
    return distribution(model, ids[:-1]).gather(1, torch.tensor(ids[1:])[:, None])[:, 0]


def furthest(model, sequences, found):
    with torch.no_grad():
        return max(
            (logprobs(model, ids) - torch.tensor(values, dtype=torch.float64)).abs().max().item()
            for ids, values in zip(sequences, found)
        )


def furthest_logit(model, ids, found):
    """Logits are compared as log-probabilities of many tokens: a constant in all of them is no difference."""
    with torch.no_grad():
        expected = distribution(model, ids[:-1])[:, : found.shape[1]]
        return (expected - found).abs().max().item()


def train(model, name, plan, entry, sampled):
    """The updates of the engine by torch, from the adapter that it started from."""
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(weights, lr=entry["learningRate"], betas=(0.9, 0.95), eps=plan["epsilon"], weight_decay=0)
    for _ in range(plan["steps"]):
        optimizer.zero_grad()
        for ids, policy, own in zip(entry["tokens"], entry["policy"], sampled):
            inputs = [torch.tensor(values, dtype=torch.float64) for values in (own, policy["advantages"], policy["mask"])]
            loss(name, logprobs(model, ids), *inputs).float().backward()
        optimizer.step()


def factors(model, adapter):
    return {
        name.replace(f".{adapter}.", "."): weight
        for name, weight in model.named_parameters()
        if f".{adapter}." in name
    }


def weight_distances(model, plan, entry, result, name):
    """The largest difference of any weight, and the norm of all differences as a share of what training changed."""
    start = {key: weight.detach().clone() for key, weight in factors(model, "start").items()}
    model.load_adapter(result["ends"][name], adapter_name=name)
    model.set_adapter("start")
    train(model.train(), name, plan, entry, result["sampled"])
    trained, expected = factors(model, "start"), factors(model, name)
    assert trained.keys() == expected.keys()
    with torch.no_grad():
        difference = torch.cat([(trained[key] - expected[key]).flatten() for key in trained])
        change = torch.cat([(expected[key] - start[key]).flatten() for key in trained])
        for key, weight in trained.items():
            weight.copy_(start[key])
    return difference.abs().max().item(), (difference.norm() / change.norm()).item()


def probabilities(scores, temperature, topK, topP):
    """The distribution that tokens are drawn from: temperature, then top-k, then top-p."""
    values = scores / temperature
    if topK > 0:
        values = torch.where(values >= values.topk(topK).values[-1], values, -torch.inf)
    ordered, places = torch.softmax(values, -1).sort(descending=True)
    kept = ordered.cumsum(-1) - ordered < topP
    return torch.zeros_like(values).scatter(0, places, ordered * kept / (ordered * kept).sum())


def chi_squared(expected, counts):
    """The probability of counts at least as far from the expected ones; rare tokens are counted together."""
    if counts[expected == 0].sum() > 0:
        return 0.0
    rare = expected < 8
    e = torch.cat([expected[~rare], expected[rare].sum()[None]])
    o = torch.cat([counts[~rare], counts[rare].sum()[None]])
    e, o = e[e > 0], o[e > 0]
    if len(e) < 2:
        return 1.0
    statistic = ((o - e) ** 2 / e).sum()
    return torch.special.gammaincc(torch.tensor((len(e) - 1) / 2, dtype=torch.float64), statistic / 2).item()


def sampling(model, entry, drawn):
    """The least of the probabilities of the counts, over all settings of sampling."""
    with torch.no_grad():
        scores = distribution(model, entry["tokens"][0])[-1]
    return min(
        chi_squared(
            entry["draws"] * probabilities(scores, **settings),
            torch.bincount(torch.tensor(tokens), minlength=len(scores)).double(),
        )
        for settings, tokens in zip(entry["sampling"], drawn)
    )


def compare(plan, entry, result):
    base = AutoModelForCausalLM.from_pretrained(entry["twin"], dtype=torch.float32).eval()
    torch.set_num_threads(os.cpu_count() if base.num_parameters() > THREADED else 1)
    merged = AutoModelForCausalLM.from_pretrained(result["merged"], dtype=torch.float32).eval()
    found = np.fromfile(result["logits"], dtype=np.float32).reshape(-1, plan["candidates"])
    distances = dict(
        logprobs=furthest(base, entry["tokens"], result["base"]),
        logits=furthest_logit(base, entry["tokens"][0], torch.from_numpy(found).double()),
        merged=furthest(merged, entry["tokens"], result["trained"]),
    )
    chance = sampling(base, entry, result["drawn"])
    model = PeftModel.from_pretrained(base, result["start"], adapter_name="start", is_trainable=True)
    weights = {name: weight_distances(model, plan, entry, result, name) for name in plan["losses"]}
    model.set_adapter(plan["losses"][0])
    distances["adapter"] = furthest(model.eval(), entry["tokens"], result["trained"])
    norms = {name: norm for name, (_, norm) in weights.items()}
    distances.update({name: largest for name, (largest, _) in weights.items()})
    return dict(name=entry["name"], distances=distances, norms=norms, chance=chance)


def unequal_blocks(out):
    """The types of GGUF files of which the engine reads a block as other bits than gguf does."""
    packed = json.load(open(os.path.join(out, "blocks.json")))
    found = json.load(open(os.path.join(out, "values.json")))

    def is_equal(name):
        data = np.frombuffer(base64.b64decode(packed[name]), dtype=np.float32 if name == "F32" else np.uint8)
        expected = dequantize(data.reshape(1, -1), GGMLQuantizationType[name]).astype(np.float32)
        return expected.tobytes() == base64.b64decode(found[name])

    return [name for name in found if not is_equal(name)]


def main(out):
    plan = json.load(open(os.path.join(out, "plan.json")))
    results = {result["name"]: result for result in json.load(open(os.path.join(out, "results.json")))}
    rows = [compare(plan, entry, results[entry["name"]]) for entry in plan["entries"]]
    types = list(json.load(open(os.path.join(out, "values.json"))))
    print(json.dumps(dict(models=rows, types=types, unequal=unequal_blocks(out))))


main(sys.argv[1])
