"""Writes a model of a real shape with random weights: python random_model.py <folder> <shape> <device>. It computes as fast as the real one."""

import sys

import torch
from transformers import AutoConfig, AutoModelForCausalLM

QWEN = dict(vocab_size=151936, tie_word_embeddings=True, bos_token_id=None, eos_token_id=151645)
SMALL = dict(
    QWEN, hidden_size=896, intermediate_size=4864, num_hidden_layers=24, num_attention_heads=14, num_key_value_heads=2,
    max_position_embeddings=32768,
)
SHAPES = {
    "qwen2.5-0.5b": ("qwen2", SMALL),
    # Few enough tokens that a few hundred samples have met them all.
    "qwen2.5-0.5b-512-tokens": ("qwen2", dict(SMALL, vocab_size=512, eos_token_id=2)),
    "qwen3-4b": ("qwen3", dict(
        QWEN, hidden_size=2560, intermediate_size=9728, num_hidden_layers=36, num_attention_heads=32, num_key_value_heads=8, head_dim=128,
        max_position_embeddings=40960,
    )),
    "qwen3-8b": ("qwen3", dict(
        QWEN, hidden_size=4096, intermediate_size=12288, num_hidden_layers=36, num_attention_heads=32, num_key_value_heads=8, head_dim=128,
        max_position_embeddings=40960, tie_word_embeddings=False,
    )),
    "tiny": ("qwen3", dict(
        QWEN, vocab_size=512, eos_token_id=2, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, head_dim=16, max_position_embeddings=8192,
    )),
}

folder, shape, device = sys.argv[1:]
kind, changes = SHAPES[shape]
torch.manual_seed(0)
with torch.device(device):
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(kind, **changes), dtype=torch.bfloat16)
model.save_pretrained(folder)
print(f"{shape}: {sum(weight.numel() for weight in model.parameters()) / 1e9:.2f} billion parameters")
