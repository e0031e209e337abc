"""Trains the preset `tiny-tools` from what `pack-tools.ts` wrote: `python train-tools.py data out [seconds]`.

The model is Qwen3 as the engine reads it. Writes `out/model.safetensors` in bf16, the weights before the assistant's habits were learned as
`out/reliable.safetensors`, and prints the loss of held-out conversations and how many of their turns are right to the last token.
"""

import json
import math
import sys
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from torch import nn

LEARNED = 0x8000
BUCKETS = (256, 320, 384, 448, 512, 640, 768, 960, 1153)


class Attention(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.heads, self.key_heads, self.size = c["num_attention_heads"], c["num_key_value_heads"], c["head_dim"]
        width, self.eps = c["hidden_size"], c["rms_norm_eps"]
        self.q_proj = nn.Linear(width, self.heads * self.size, bias=False)
        self.k_proj = nn.Linear(width, self.key_heads * self.size, bias=False)
        self.v_proj = nn.Linear(width, self.key_heads * self.size, bias=False)
        self.o_proj = nn.Linear(self.heads * self.size, width, bias=False)
        self.q_norm = nn.RMSNorm(self.size, eps=self.eps)
        self.k_norm = nn.RMSNorm(self.size, eps=self.eps)

    def forward(self, x, cos, sin):
        rows, length, _ = x.shape
        q = self.q_norm(self.q_proj(x).float().view(rows, length, self.heads, self.size))
        k = self.k_norm(self.k_proj(x).float().view(rows, length, self.key_heads, self.size))
        v = self.v_proj(x).view(rows, length, self.key_heads, self.size)
        q, k = rotate(q, cos, sin).to(v.dtype), rotate(k, cos, sin).to(v.dtype)
        repeat = self.heads // self.key_heads
        k, v = k.repeat_interleave(repeat, dim=2), v.repeat_interleave(repeat, dim=2)
        y = F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), is_causal=True)
        return self.o_proj(y.transpose(1, 2).reshape(rows, length, -1))


def rotate(x, cos, sin):
    first, second = x.chunk(2, dim=-1)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)


class FeedForward(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.gate_proj = nn.Linear(c["hidden_size"], c["intermediate_size"], bias=False)
        self.up_proj = nn.Linear(c["hidden_size"], c["intermediate_size"], bias=False)
        self.down_proj = nn.Linear(c["intermediate_size"], c["hidden_size"], bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.input_layernorm = nn.RMSNorm(c["hidden_size"], eps=c["rms_norm_eps"])
        self.self_attn = Attention(c)
        self.post_attention_layernorm = nn.RMSNorm(c["hidden_size"], eps=c["rms_norm_eps"])
        self.mlp = FeedForward(c)

    def forward(self, x, cos, sin):
        x = x + self.self_attn(self.input_layernorm(x), cos, sin)
        return x + self.mlp(self.post_attention_layernorm(x))


class Model(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.embed_tokens = nn.Embedding(c["vocab_size"], c["hidden_size"])
        self.layers = nn.ModuleList(Layer(c) for _ in range(c["num_hidden_layers"]))
        self.norm = nn.RMSNorm(c["hidden_size"], eps=c["rms_norm_eps"])
        half = c["head_dim"] // 2
        angles = torch.outer(
            torch.arange(c["max_position_embeddings"] + 1, dtype=torch.float64),
            c["rope_theta"] ** (-torch.arange(half, dtype=torch.float64) / half),
        )
        self.register_buffer("cos", angles.cos().float()[None, :, None, :], persistent=False)
        self.register_buffer("sin", angles.sin().float()[None, :, None, :], persistent=False)
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                into_stream = "o_proj" in name or "down_proj" in name
                depth = math.sqrt(2 * c["num_hidden_layers"]) if into_stream else 1
                nn.init.normal_(parameter, std=0.05 if "embed" in name else parameter.shape[1] ** -0.5 / depth)

    def forward(self, ids):
        x = self.embed_tokens(ids)
        cos, sin = self.cos[:, : ids.shape[1]], self.sin[:, : ids.shape[1]]
        for layer in self.layers:
            x = layer(x, cos, sin)
        return self.norm(x)

    def logits(self, x):
        return F.linear(x, self.embed_tokens.weight)


class Documents:
    """Packed documents, in batches of those that are about as long."""

    def __init__(self, folder, name, device):
        self.lengths = np.fromfile(folder / f"{name}.lengths.bin", np.uint16).astype(np.int64)
        tokens = np.fromfile(folder / f"{name}.bin", np.uint16)
        assert len(tokens) == self.lengths.sum()
        self.starts = torch.from_numpy(np.concatenate(([0], np.cumsum(self.lengths)[:-1]))).to(device)
        self.tokens = torch.from_numpy(np.concatenate((tokens, np.zeros(BUCKETS[-1], np.uint16))).astype(np.int32)).to(device)
        self.counts = torch.from_numpy(self.lengths).to(device)
        self.device = device

    def batches(self, random, size):
        """All documents in batches of about `size` tokens, again and again in another order."""
        bucket = np.searchsorted(BUCKETS, self.lengths)
        while True:
            all_batches = []
            for index, longest in enumerate(BUCKETS):
                members = random.permutation(np.flatnonzero(bucket == index))
                rows = max(1, size // longest)
                all_batches += [(longest, members[at : at + rows]) for at in range(0, len(members), rows)]
            random.shuffle(all_batches)
            for longest, members in all_batches:
                yield self.batch(longest, members)

    def batch(self, longest, members):
        chosen = torch.from_numpy(members).to(self.device, non_blocking=True)
        places = torch.arange(longest, device=self.device)
        tokens = self.tokens[self.starts[chosen, None] + places].long()
        inside = places < self.counts[chosen, None]
        learned = inside & (tokens >= LEARNED)
        return torch.where(inside, tokens & (LEARNED - 1), 0), inside, learned


def weighted_loss(model, batch, prompt_weight):
    ids, inside, learned = batch
    x = model(ids[:, :-1])
    weights = inside[:, 1:].float() * prompt_weight
    weights = torch.where(learned[:, 1:], torch.ones_like(weights), weights)
    losses = F.cross_entropy(model.logits(x).float().flatten(0, 1), ids[:, 1:].flatten(), reduction="none")
    return (losses * weights.flatten()).sum() / weights.sum()


@torch.no_grad()
def measure(model, documents, autocast):
    """Loss of what the assistant says, and the shares of its turns and of whole conversations that are right to the last token."""
    total = tokens = turns = right_turns = rights = 0
    everything = np.arange(len(documents.lengths))
    bucket = np.searchsorted(BUCKETS, documents.lengths)
    for index, longest in enumerate(BUCKETS):
        members = everything[bucket == index]
        for at in range(0, len(members), 64):
            ids, _, learned = documents.batch(longest, members[at : at + 64])
            with autocast():
                logits = model.logits(model(ids[:, :-1])).float()
            learned, targets = learned[:, 1:], ids[:, 1:]
            losses = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none").view(targets.shape)
            total += (losses * learned).sum().item()
            tokens += learned.sum().item()
            wrong = learned & (logits.argmax(-1) != targets)
            begins = learned & ~F.pad(learned, (1, 0))[:, :-1]
            turn = begins.cumsum(1) * learned
            mistakes = torch.zeros(len(ids), int(turn.max()) + 1, device=ids.device).scatter_add_(1, turn, wrong.float())
            bad = (mistakes > 0).sum(1)
            turns += turn.amax(1).sum().item()
            right_turns += (turn.amax(1) - bad).sum().item()
            rights += (bad == 0).sum().item()
    return {"loss": total / tokens, "turns": right_turns / turns, "conversations": rights / len(everything)}


def save(model, file):
    tensors = {f"model.{name}": value.detach().to(torch.bfloat16).cpu().contiguous() for name, value in model.named_parameters()}
    save_file(tensors, file, {"format": "pt"})


def main():
    data, out = Path(sys.argv[1]), Path(sys.argv[2])
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 200.0
    size = 65536
    out.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    config = json.loads((data / "config.json").read_text())
    torch.manual_seed(1)
    torch.set_float32_matmul_precision("high")
    model = Model(config).to(device)
    print(f"{sum(p.numel() for p in model.parameters())} parameters on {device}", flush=True)

    def autocast():
        return torch.autocast(device, torch.bfloat16, enabled=device == "cuda")

    sets = {name: Documents(data, name, device) for name in ("reliable", "mixed", "heldout")}
    print(f"data read after {time.monotonic() - started:.0f} s", flush=True)
    random = np.random.default_rng(1)
    reliable, mixed = (sets[name].batches(random, size) for name in ("reliable", "mixed"))
    matrices = [p for p in model.parameters() if p.dim() == 2]
    others = [p for p in model.parameters() if p.dim() != 2]
    groups = [{"params": matrices, "weight_decay": 0.01}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=0.0, betas=(0.9, 0.98), eps=1e-8, fused=device == "cuda")

    # The schedule follows the time: a warm-up, a cosine, and the last seventh on the assistant's habits at a small rate.
    peak, settled, habits_from = 3e-3, 3e-4, 0.86
    began, step, told, is_mixed = time.monotonic(), 0, time.monotonic(), False
    recent = torch.zeros((), device=device)
    recent_steps = 0
    while True:
        share = (time.monotonic() - began) / seconds
        if share >= 1:
            break
        if share >= habits_from and not is_mixed:
            is_mixed = True
            save(model, out / "reliable.safetensors")
            print(f"reliable: step {step}, held out {measure(model, sets['heldout'], autocast)}", flush=True)
        if is_mixed:
            rate = settled * (1 - 0.9 * (share - habits_from) / (1 - habits_from))
        else:
            fall = 0.5 * (1 + math.cos(math.pi * share / habits_from))
            rate = (settled + (peak - settled) * fall) * min(1, (step + 1) / 200)
        for group in optimizer.param_groups:
            group["lr"] = rate
        prompt_weight = 0.1 if share < 0.25 else 0.02
        with autocast():
            loss = weighted_loss(model, next(mixed if is_mixed else reliable), prompt_weight)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True)
        optimizer.step()
        step, recent, recent_steps = step + 1, recent + loss.detach(), recent_steps + 1
        if step % 10 == 0 and device == "cuda":
            torch.cuda.synchronize()  # so that the clock is that of the work
        if time.monotonic() - told > 15:
            mean = (recent / recent_steps).item()
            held = measure(model, sets["heldout"], autocast) if time.monotonic() - began < seconds - 15 else ""
            print(f"step {step}, {share:.2f}, rate {rate:.1e}, loss {mean:.4f}, held out {held}", flush=True)
            recent.zero_()
            told, recent_steps = time.monotonic(), 0
            if not math.isfinite(mean):
                sys.exit("the loss is not a number")
    save(model, out / "model.safetensors")
    model.load_state_dict({n.removeprefix("model."): v.float() for n, v in load_file(out / "model.safetensors").items()})
    print(f"in the end: step {step}, held out {measure(model, sets['heldout'], autocast)}", flush=True)
    print(f"{time.monotonic() - started:.0f} s", flush=True)


main()
