"""Log-probabilities of the exported policies by transformers and peft.

    python3 peft_scores.py <folder of policies.json>

Needs torch, transformers and peft; `node scripts/conformance/gguf.mjs` runs it.
"""

import json
import os
import sys

import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM


def load(folder):
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()


@torch.no_grad()
def scores(model, sequences):
    """The log-probability of each token after the first."""
    return [
        torch.log_softmax(model(torch.tensor([ids[:-1]])).logits[0].double(), -1)
        .gather(1, torch.tensor(ids[1:])[:, None])[:, 0]
        .tolist()
        for ids in sequences
    ]


def policy(entry):
    tokens = entry["tokens"]
    found = dict(base=scores(load(entry["baseFolder"]), tokens), merged=scores(load(entry["mergedFolder"]), tokens))
    model = PeftModel.from_pretrained(load(entry["baseFolder"]), entry["adapter"], adapter_name="trained").eval()
    found["adapter"] = scores(model, tokens)
    found["faults"] = []
    for index, fault in enumerate(entry["faults"]):
        model.load_adapter(fault["adapter"], adapter_name=f"fault-{index}")
        model.set_adapter(f"fault-{index}")
        found["faults"].append(scores(model, tokens))
    return found


def main(folder):
    policies = json.load(open(os.path.join(folder, "policies.json")))
    print(json.dumps([policy(entry) for entry in policies]))


main(sys.argv[1])
