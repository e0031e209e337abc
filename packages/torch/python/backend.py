"""Trains LoRA adapters of one language model, and samples from them, for the program that started this process.

    python backend.py '{"model": "Qwen/Qwen3-0.6B", "device": "cuda", "dtype": "bfloat16", ...}'

Frames go both ways, over standard input and output: two numbers of 32 bits, the bytes of a JSON header and of a body, then both. The
header's `arrays` name the arrays in the body, in order: [name, "i" or "f" (32 bits each), length]. A command has an `id`, which its
answer repeats, with an `error` where it failed. Commands run one after another in the order in which they come; sequences that are being
sampled advance by one token between two commands. The process ends when its standard input does.
"""

import hashlib
import json
import math
import os
import queue
import random
import struct
import sys
import threading
import traceback

# Libraries print what they like: only frames may reach the standard output that the parent reads.
ANSWERS = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)
os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")


def write_frame(header, body=b""):
    text = json.dumps(header, allow_nan=False).encode()
    ANSWERS.write(struct.pack("<II", len(text), len(body)) + text + body)
    ANSWERS.flush()


try:
    import torch
    from peft import LoraConfig, get_peft_model
    from safetensors.torch import load_file, save_file
    from torch.nn.functional import linear
    from torch.nn.utils.rnn import pad_sequence
    from torch.utils.checkpoint import checkpoint
    from transformers import AutoModelForCausalLM, AutoTokenizer, DynamicCache
    from transformers.utils.logging import disable_progress_bar
except ModuleNotFoundError as error:
    advice = "pip install torch transformers peft safetensors"
    write_frame(dict(id=0, error=dict(reason="Unsupported", of=f"a Python without {error.name}", detail=advice), arrays=[]))
    sys.exit(1)

# That of the service and of the engine, whatever the rank.
ALPHA = 32
# Rows of logits that exist at once while log-probabilities are computed.
LOGIT_ROWS = 2048
# What helps where numbers are not finite.
GO_BACK = "go back to an earlier checkpoint"


class Refusal(Exception):
    """A command that cannot be followed; `reason` is that of a TinkerError."""

    def __init__(self, reason, detail, **fields):
        super().__init__(detail)
        self.answer = dict(reason=reason, detail=detail, **fields)


def send(header, arrays={}):
    packed = {name: values.contiguous() for name, values in arrays.items()}
    kinds = [[name, "i" if values.dtype == torch.int32 else "f", values.numel()] for name, values in packed.items()]
    write_frame({**header, "arrays": kinds}, b"".join(values.numpy().tobytes() for values in packed.values()))


def fail(id, error):
    if isinstance(error, Refusal):
        answer = error.answer
    elif isinstance(error, torch.OutOfMemoryError):
        torch.cuda.empty_cache()
        answer = dict(reason="Unavailable", lacks="memory", detail=f"the device is out of memory: {first_line(error)}")
    else:
        traceback.print_exception(error)
        answer = dict(reason="Unavailable", detail=f"{type(error).__name__}: {first_line(error)}")
    send(dict(id=id, error=answer))


def first_line(error):
    return (str(error).strip() or "no message").splitlines()[0]


def read_frames(inbox):
    """Puts each command into the inbox. Without a parent there is nobody to compute for."""
    read = sys.stdin.buffer.read
    while len(lengths := read(8)) == 8:
        header_bytes, body_bytes = struct.unpack("<II", lengths)
        command, body, at = json.loads(read(header_bytes)), read(body_bytes), 0
        for name, kind, length in command.pop("arrays"):
            dtype = torch.int32 if kind == "i" else torch.float32
            empty = torch.empty(0, dtype=dtype)
            command[name] = torch.frombuffer(bytearray(body[at : at + 4 * length]), dtype=dtype) if length else empty
            at += 4 * length
        inbox.put(command)
    os._exit(0)


class Adapter:
    """Trained matrices by their names in PEFT's files; `optimizer` is absent from adapters that are only sampled from."""

    def __init__(self, rank, targets, weights, optimizer=None):
        self.rank, self.targets, self.weights, self.optimizer = rank, targets, weights, optimizer

    @property
    def slot(self):
        return f"rank_{self.rank}_{'_'.join(self.targets)}"


def plain(layer):
    """PEFT's arithmetic of plain LoRA without its other cases, which cost more time than the arithmetic where few tokens are computed at once."""

    def forward(x):
        result = layer.base_layer(x)
        slot = layer.active_adapters[0]
        if layer.disable_adapters or slot not in layer.lora_A:
            return result
        a, b = layer.lora_A[slot].weight, layer.lora_B[slot].weight
        return (result + linear(linear(x.to(a.dtype), a), b) * layer.scaling[slot]).to(result.dtype)

    return forward


class Policy:
    """The model, and the adapters beside it. PEFT has one slot for each shape of adapter, into which the weights of the one in use are put."""

    def __init__(self, options):
        self.device, self.name = torch.device(options["device"]), options["name"]
        self.micro_tokens = options["microBatchTokens"]
        place = dict(local_files_only=True) if options["isFolder"] else {}
        dtype = getattr(torch, options["dtype"])
        if dtype != torch.float32:
            torch.set_float32_matmul_precision("high")  # adapters stay in float32
        try:
            self.base = AutoModelForCausalLM.from_pretrained(options["model"], dtype=dtype, attn_implementation="sdpa", **place)
        except (OSError, ValueError) as error:
            raise Refusal("NotFound", first_line(error), of=options["model"])
        try:
            self.tokenizer = AutoTokenizer.from_pretrained(options["model"], **place)
        except Exception as error:
            print(f"strings cannot stop samples, as there is no tokenizer: {first_line(error)}", file=sys.stderr)
            self.tokenizer = None
        self.base.to(self.device).requires_grad_(False)
        for module in self.base.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0
            if hasattr(module, "attention_dropout"):
                module.attention_dropout = 0.0
        if options["gradientCheckpointing"]:
            self.base.gradient_checkpointing_enable(dict(use_reentrant=False))
        self.peft, self.slots, self.adapters, self.used = None, {}, {}, None  # `used` is False where PEFT has to be told again
        config = self.base.config.get_text_config()
        ends = self.base.generation_config.eos_token_id
        ends = config.eos_token_id if ends is None else ends
        self.ready = dict(
            vocabulary=config.vocab_size,
            contextLength=config.max_position_embeddings,
            endsOfSequence=[] if ends is None else ends if isinstance(ends, list) else [ends],
            hasTokenizer=self.tokenizer is not None,
        )

    def slot(self, adapter):
        """PEFT's linear layers for adapters of this shape, by the names of their matrices."""
        if adapter.slot not in self.slots:
            config = LoraConfig(r=adapter.rank, lora_alpha=ALPHA, target_modules=adapter.targets, task_type="CAUSAL_LM")
            try:
                if self.peft is None:
                    self.peft = get_peft_model(self.base, config, adapter_name=adapter.slot)
                else:
                    self.peft.add_adapter(adapter.slot, config)
            except ValueError as error:
                raise Refusal("Unsupported", first_line(error), of="LoRA of this model")
            self.used = False
            layers = {name: module for name, module in self.peft.named_modules() if adapter.slot in getattr(module, "lora_A", ())}
            for layer in layers.values():
                layer.forward = plain(layer)
            self.slots[adapter.slot] = {
                f"{name}.{side}.weight": getattr(layer, side)[adapter.slot]
                for name, layer in layers.items()
                for side in ("lora_A", "lora_B")
            }
        return self.slots[adapter.slot]

    def find(self, key):
        if key not in self.adapters:
            raise Refusal("Closed", "the adapter was deleted")
        return self.adapters[key]

    def use(self, key):
        """Puts an adapter into its slot, or for None switches all of them off."""
        adapter = None if key is None else self.find(key)
        if adapter is self.used:
            return
        if adapter is None:
            if self.peft is not None:
                self.peft.base_model.disable_adapter_layers()
        else:
            for name, layer in self.slot(adapter).items():
                layer.weight = adapter.weights[name]
            self.peft.base_model.enable_adapter_layers()
            self.peft.set_adapter(adapter.slot)
            for weight in adapter.weights.values():
                weight.requires_grad_(adapter.optimizer is not None)
        self.used = adapter

    def logprobs(self, tokens, targets):
        """Log-probabilities [B, T, K] of `targets [B, T, K]` after `tokens [B, T]`; nothing attends to what is on its right, so padding needs no mask."""
        hidden = self.base.get_decoder()(input_ids=tokens, use_cache=False).last_hidden_state
        rows, picked = hidden.flatten(0, 1), targets.flatten(0, 1)

        def score(rows, picked):
            logits = self.base.get_output_embeddings()(rows).float()
            return logits.gather(-1, picked) - logits.logsumexp(-1, keepdim=True)

        pieces = [
            checkpoint(score, rows[at : at + LOGIT_ROWS], picked[at : at + LOGIT_ROWS], use_reentrant=False)
            for at in range(0, len(rows), LOGIT_ROWS)
        ]
        return torch.cat(pieces).view(targets.shape)


# Each loss of one datum, from log-probabilities lp, those of the sampler q, advantages a, and which tokens count.
def clipped(ratio, a, low, high):
    return -torch.minimum(ratio * a, ratio.clamp(low, high) * a)


def gspo(lp, q, a, counts, c):
    distance = ((lp - q) * counts).sum() / counts.sum()
    sequence = distance.detach().clamp(max=10).exp() * (lp - lp.detach()).exp()
    return clipped(sequence, a, c["clip_low_threshold"], c["clip_high_threshold"])


POLICY_LOSSES = {
    "importance_sampling": lambda lp, q, a, counts, c: -(lp - q).exp() * a,
    "ppo": lambda lp, q, a, counts, c: clipped((lp - q).exp(), a, c["clip_low_threshold"], c["clip_high_threshold"]),
    "cispo": lambda lp, q, a, counts, c: -(lp - q).exp().clamp(c["clip_low_threshold"], c["clip_high_threshold"]).detach() * lp * a,
    "dro": lambda lp, q, a, counts, c: -(lp * a - c["beta"] / 2 * (lp - q) ** 2),
    "gspo": gspo,
}


def loss_of(name, config, lp, inputs):
    """The sum over the tokens that count; what is not a number elsewhere has no part in it."""
    if name == "cross_entropy":
        counts = inputs["weights"] != 0
        values = -inputs["weights"] * lp
    else:
        counts = inputs["mask"] != 0
        a, q = inputs["advantages"], inputs["logprobs"].nan_to_num(0.0)
        values = POLICY_LOSSES[name](lp, q, a, counts, config)
        if name != "dro":
            counts = counts & (a != 0)
    return torch.where(counts, values, 0.0).sum(dtype=torch.float64)


def micro_batches(lengths, most):
    """Indices of sequences of similar length that have at most `most` tokens with their padding, or of one that has more."""
    batches, batch = [], []
    for index in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        if batch and lengths[batch[0]] * (len(batch) + 1) > most:
            batches.append(batch)
            batch = []
        batch.append(index)
    return [*batches, batch]


def digest_of(folder):
    """The SHA-256 of a checkpoint's files in the order of their names."""
    digest = hashlib.sha256()
    for name in sorted(name for name in os.listdir(folder) if name.endswith((".safetensors", "config.json"))):
        with open(os.path.join(folder, name), "rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return f"sha256:{digest.hexdigest()}"


def padded(rows, value=0, left=False):
    return pad_sequence([row.long() for row in rows], batch_first=True, padding_value=value, padding_side="left" if left else "right")


class Trainer:
    def __init__(self, policy):
        self.policy = policy

    def create(self, adapter, rank, modules, seed):
        made = Adapter(rank, modules, {})
        shapes = {name: layer.weight.shape for name, layer in self.policy.slot(made).items()}
        generator = torch.Generator().manual_seed(seed % 2**63)
        for name, shape in shapes.items():
            bound = 0.0 if ".lora_B." in name else shape[1] ** -0.5
            values = torch.empty(shape).uniform_(-bound, bound, generator=generator) if bound else torch.zeros(shape)
            made.weights[name] = torch.nn.Parameter(values.to(self.policy.device))
        return self.keep(adapter, made, True)

    def keep(self, key, adapter, is_trained):
        if is_trained:
            adapter.optimizer = torch.optim.AdamW(adapter.weights.values())
        self.policy.adapters[key] = adapter
        bytes_each = 16 if is_trained else 4
        memory = bytes_each * sum(weight.numel() for weight in adapter.weights.values())
        return dict(rank=adapter.rank, memoryBytes=memory)

    def read(self, folder, digest=None):
        if digest is not None and digest != digest_of(folder):
            raise Refusal("Rejected", f"{folder} is not what was saved: its digest is {digest_of(folder)}, expected {digest}")
        with open(os.path.join(folder, "adapter_config.json")) as file:
            config = json.load(file)
        if config["base_model_name_or_path"] != self.policy.name:
            detail = f'the checkpoint is of model "{config["base_model_name_or_path"]}"; this one is "{self.policy.name}"'
            raise Refusal("Rejected", detail)
        adapter = Adapter(config["r"], config["target_modules"], {})
        if config["lora_alpha"] != ALPHA:
            raise Refusal("Rejected", f"lora_alpha is {config['lora_alpha']}, expected {ALPHA}")
        stored = load_file(os.path.join(folder, "adapter_model.safetensors"), device=str(self.policy.device))
        expected = {name: tuple(layer.weight.shape) for name, layer in self.policy.slot(adapter).items()}
        found = {name: tuple(weight.shape) for name, weight in stored.items()}
        if found != expected:
            different = sorted(name for name in found.keys() | expected.keys() if found.get(name) != expected.get(name))
            raise Refusal("Rejected", f"{different[0]} is {found.get(different[0])}, expected {expected.get(different[0])}")
        adapter.weights = {name: torch.nn.Parameter(stored[name].float()) for name in expected}
        return adapter

    def read_optimizer(self, folder, adapter):
        file = os.path.join(folder, "optimizer.safetensors")
        if not os.path.exists(file):
            raise Refusal("Rejected", "path is a checkpoint of weights to sample from, expected one of saveState: it has no optimizer")
        stored = load_file(file, device=str(self.policy.device))
        for name, weight in adapter.weights.items():
            state = {key: stored[f"{name}.{key}"] for key in ("exp_avg", "exp_avg_sq", "step") if f"{name}.{key}" in stored}
            if state:
                adapter.optimizer.state[weight] = {**state, "step": state["step"].cpu()}

    def open(self, adapter, folder, train, digest=None):
        found = self.read(folder, digest)
        answer = self.keep(adapter, found, train)
        if train:
            try:
                self.read_optimizer(folder, found)
            except Refusal:
                del self.policy.adapters[adapter]
                raise
        return answer

    def load(self, adapter, folder, optimizer):
        mine, found = self.policy.find(adapter), self.read(folder)
        if found.slot != mine.slot:
            raise Refusal("Rejected", f"the checkpoint has rank {found.rank} on {found.targets}, this client {mine.rank} on {mine.targets}")
        found.optimizer = torch.optim.AdamW(found.weights.values())
        if optimizer:
            self.read_optimizer(folder, found)
        self.policy.adapters[adapter] = found
        return {}

    def save(self, adapter, folder, optimizer):
        mine = self.policy.find(adapter)
        config = dict(
            peft_type="LORA", task_type="CAUSAL_LM", base_model_name_or_path=self.policy.name, r=mine.rank, lora_alpha=ALPHA,
            target_modules=mine.targets, lora_dropout=0.0, bias="none", inference_mode=True,
        )
        with open(os.path.join(folder, "adapter_config.json"), "w") as file:
            json.dump(config, file, indent=2)
        save_file({name: weight.detach() for name, weight in mine.weights.items()}, os.path.join(folder, "adapter_model.safetensors"))
        if optimizer:
            states = {
                f"{name}.{key}": value
                for name, weight in mine.weights.items()
                for key, value in mine.optimizer.state.get(weight, {}).items()
            }
            save_file(states, os.path.join(folder, "optimizer.safetensors"))
        return dict(digest=digest_of(folder))

    def snapshot(self, adapter, to):
        mine = self.policy.find(adapter)
        copy = {name: torch.nn.Parameter(weight.detach().clone(), requires_grad=False) for name, weight in mine.weights.items()}
        return self.keep(to, Adapter(mine.rank, mine.targets, copy), False)

    def delete(self, adapter):
        self.policy.adapters.pop(adapter, None)
        return {}

    def pass_(self, adapter, backward, loss, lengths, candidates, tokens, targets, **inputs):
        """The loss summed over all tokens, and where `backward` its gradient, added to that of earlier passes. One that fails adds nothing."""
        sizes = [length * count for length, count in zip(lengths, candidates)]
        inputs = {name: values.split(sizes) for name, values in inputs.items()}
        tokens, targets = tokens.split(lengths), targets.split(sizes)
        device, total, found = self.policy.device, 0.0, [None] * len(lengths)
        mine = self.policy.find(adapter)
        before = {name: weight.grad for name, weight in mine.weights.items()}
        for weight in mine.weights.values():
            weight.grad = None
        try:
            self.policy.use(adapter)
            self.policy.base.train(backward)
            with torch.set_grad_enabled(backward):
                for batch in micro_batches(lengths, self.policy.micro_tokens):
                    most = max(candidates[index] for index in batch)
                    wide = [torch.nn.functional.pad(targets[i].view(lengths[i], -1), (0, most - candidates[i])) for i in batch]
                    lp = self.policy.logprobs(padded([tokens[i] for i in batch]).to(device), padded(wide).to(device))
                    value = 0.0
                    for row, index in enumerate(batch):
                        own = lp[row, : lengths[index], : candidates[index]].flatten()
                        value = value + loss_of(loss["name"], loss["config"], own, {name: v[index].to(device) for name, v in inputs.items()})
                        found[index] = own.detach()
                    if backward and value.requires_grad:
                        value.backward()
                    total += value.item()
            if not math.isfinite(total):
                raise Refusal("Rejected", f"the loss is {total}: {GO_BACK}")
        except BaseException:
            for name, weight in mine.weights.items():
                weight.grad = before[name]
            raise
        for name, weight in mine.weights.items():
            if before[name] is not None:
                weight.grad = before[name] if weight.grad is None else weight.grad.add_(before[name])
        return dict(loss=total), dict(logprobs=torch.cat(found).float().cpu())

    def step(self, adapter, adam):
        mine = self.policy.find(adapter)
        weights = list(mine.weights.values())
        for weight in weights:
            weight.grad = torch.zeros_like(weight) if weight.grad is None else weight.grad
        norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm([weight.grad for weight in weights]))).item()
        if not math.isfinite(norm):
            mine.optimizer.zero_grad(set_to_none=True)
            raise Refusal("Rejected", f"the update is not finite: the gradient's norm is {norm}; {GO_BACK}")
        if 0 < adam["gradClipNorm"] < norm:
            torch._foreach_mul_([weight.grad for weight in weights], adam["gradClipNorm"] / norm)
        mine.optimizer.param_groups[0].update(
            lr=adam["learningRate"], betas=(adam["beta1"], adam["beta2"]), eps=adam["eps"], weight_decay=adam["weightDecay"]
        )
        mine.optimizer.step()
        mine.optimizer.zero_grad(set_to_none=True)
        return dict(metrics=dict(grad_norm=norm))


class Row:
    """One sequence that is being sampled."""

    def __init__(self, request, index):
        self.request, self.draws = request, random.Random(request["seeds"][index])
        self.tokens, self.logprobs, self.reason = [], [], None

    def take(self, token, logprob, policy):
        self.tokens.append(token)
        self.logprobs.append(logprob)
        if token in self.request["stopTokens"] or self.is_at_text(policy):
            self.reason = "stop"
        elif len(self.tokens) == self.request["maxTokens"]:
            self.reason = "length"

    def is_at_text(self, policy):
        """Every token has a byte or more, so that a text which the newest token completes lies within as many tokens as it has bytes."""
        texts = self.request["stopTexts"]
        if not texts:
            return False
        tail = policy.tokenizer.decode(self.tokens[-max(len(text.encode()) for text in texts) - 1 :], skip_special_tokens=False)
        return any(text in tail for text in texts)


def draw(logits, rows):
    """Tokens [B] of logits [B, V], and their log-probabilities: temperature, then top k, then the fewest tokens whose mass reaches top p."""
    logprobs = logits.float().log_softmax(-1)
    asked = [row.request for row in rows]
    column = lambda name: torch.tensor([request[name] for request in asked], device=logits.device).unsqueeze(1)
    temperature = column("temperature").float()
    masses = (logprobs / temperature.clamp(min=1e-6)).softmax(-1).double()
    if any(request["topK"] > 0 or request["topP"] < 1 for request in asked):
        masses_sorted, order = torch.sort(masses, dim=-1, descending=True, stable=True)
        top_k = column("topK")
        ranks = torch.arange(masses.shape[1], device=logits.device)
        masses_sorted = masses_sorted.masked_fill((top_k > 0) & (ranks >= top_k), 0.0)
        above = masses_sorted.cumsum(-1) - masses_sorted
        masses_sorted = masses_sorted.masked_fill(above >= column("topP").double() * masses_sorted.sum(-1, keepdim=True), 0.0)
        masses = torch.zeros_like(masses).scatter(-1, order, masses_sorted)
    sums = masses.cumsum(-1)
    uniform = torch.tensor([row.draws.random() for row in rows], dtype=torch.float64, device=logits.device).unsqueeze(1)
    last = masses.shape[1] - 1 - (masses > 0).flip(-1).int().argmax(-1)
    drawn = torch.minimum((sums <= uniform * sums[:, -1:]).sum(-1), last)
    tokens = torch.where(temperature.squeeze(1) == 0, logprobs.argmax(-1), drawn)
    return tokens, logprobs.gather(-1, tokens.unsqueeze(1)).squeeze(1)


class Batch:
    """The sequences that are being sampled from one adapter, or from the model alone. New ones join between two tokens."""

    def __init__(self, policy, adapter):
        self.policy, self.adapter = policy, adapter
        self.rows, self.cache, self.mask, self.next = [], None, None, None

    def logits(self, tokens, mask, positions, cache):
        """Logits [B, V] after the last of `tokens [B, T]`."""
        self.policy.use(self.adapter)
        out = self.policy.base(input_ids=tokens, attention_mask=mask, position_ids=positions, past_key_values=cache, logits_to_keep=1)
        return out.logits[:, -1]

    def admit(self, requests):
        """Computes the prompts of requests, each once for all of its samples, and draws the first token of each sample."""
        prompts = [request["prompt"] for request in requests]
        tokens = padded(prompts, left=True).to(self.policy.device)
        mask = padded([torch.ones_like(prompt) for prompt in prompts], left=True).to(self.policy.device)
        cache = DynamicCache(config=self.policy.base.config)
        logits = self.logits(tokens, mask, (mask.cumsum(-1) - 1).clamp(min=0), cache)
        owners = [at for at, request in enumerate(requests) for _ in request["seeds"]]
        index = torch.tensor(owners, device=self.policy.device)
        cache.batch_select_indices(index)
        rows = [Row(request, at) for request in requests for at in range(len(request["seeds"]))]
        for request in requests:
            request["rows"] = [row for row in rows if row.request is request]
        self.join(rows, cache, mask[index], self.accept(rows, logits[index]))

    def join(self, rows, cache, mask, tokens):
        """Puts sequences beside those that are there, which begin with padding up to the length of the longest."""
        if self.rows:
            longest = max(mask.shape[1], self.mask.shape[1])
            for one, new in zip(self.cache.layers, cache.layers):
                for side in ("keys", "values"):
                    both = [
                        torch.nn.functional.pad(kept, (0, 0, longest - kept.shape[-2], 0)) for kept in (getattr(one, side), getattr(new, side))
                    ]
                    setattr(one, side, torch.cat(both))
            wide = [torch.nn.functional.pad(kept, (longest - kept.shape[1], 0)) for kept in (self.mask, mask)]
            self.mask, self.next = torch.cat(wide), torch.cat([self.next, tokens])
        else:
            self.cache, self.mask, self.next = cache, mask, tokens
        self.rows += rows
        self.finish()

    def accept(self, rows, logits):
        tokens, logprobs = draw(logits, rows)
        found = zip(rows, tokens.tolist(), logprobs.tolist())
        for row, token, logprob in found:
            if not math.isfinite(logprob):
                raise Refusal("Rejected", f"the weights give logits that are not finite, so no token can be drawn: {GO_BACK}")
            row.take(token, logprob, self.policy)
        return tokens

    def advance(self):
        self.mask = torch.nn.functional.pad(self.mask, (0, 1), value=1)
        logits = self.logits(self.next.unsqueeze(1), self.mask, self.mask.sum(-1, keepdim=True) - 1, self.cache)
        self.next = self.accept(self.rows, logits)
        self.finish()

    def finish(self):
        """Answers requests whose samples are complete, and drops the rows of samples that are."""
        for request in {id(row.request): row.request for row in self.rows}.values():
            if not request.get("isOver") and all(row.reason for row in request["rows"]):
                request["isOver"] = True
                rows = request["rows"]
                arrays = dict(
                    tokens=torch.tensor([token for row in rows for token in row.tokens], dtype=torch.int32),
                    logprobs=torch.tensor([logprob for row in rows for logprob in row.logprobs]),
                )
                header = dict(id=request["id"], lengths=[len(row.tokens) for row in rows], reasons=[row.reason for row in rows])
                send(header, arrays)
        self.keep([at for at, row in enumerate(self.rows) if row.reason is None])

    def drop(self, id):
        self.keep([at for at, row in enumerate(self.rows) if row.request["id"] != id])

    def keep(self, at):
        if len(at) == len(self.rows):
            return
        self.rows = [self.rows[index] for index in at]
        if not at:
            self.cache = self.mask = self.next = None
            return
        index = torch.tensor(at, device=self.policy.device)
        self.mask, self.next = self.mask[index], self.next[index]
        unused = int(self.mask.argmax(-1).min())
        self.mask = self.mask[:, unused:]
        self.cache.batch_select_indices(index)
        for layer in self.cache.layers:
            layer.keys, layer.values = layer.keys[..., unused:, :], layer.values[..., unused:, :]


class Sampler:
    def __init__(self, policy, most):
        self.policy, self.most, self.waiting, self.batches = policy, most, [], {}

    def submit(self, request):
        if request["adapter"] is not None:
            self.policy.find(request["adapter"])
        self.waiting.append(request)

    def score(self, adapter, prompt):
        """Log-probabilities of a prompt's tokens but the first."""
        self.policy.use(adapter)
        self.policy.base.eval()
        tokens = prompt.long().to(self.policy.device).unsqueeze(0)
        with torch.no_grad():
            found = self.policy.logprobs(tokens[:, :-1], tokens[:, 1:].unsqueeze(-1))
        return {}, dict(logprobs=found.flatten().cpu())

    @property
    def is_busy(self):
        return bool(self.waiting or self.batches)

    def cancel(self, of):
        self.waiting = [request for request in self.waiting if request["id"] != of]
        for key, batch in list(self.batches.items()):
            batch.drop(of)
            if not batch.rows:
                del self.batches[key]

    def admissible(self, batch):
        """The oldest requests for a batch that it has room for; one that is larger than the room comes when it is alone."""
        room, taken, longest = self.most - len(batch.rows), [], 0
        for request in self.waiting:
            if request["adapter"] != batch.adapter:
                continue
            longest = max(longest, len(request["prompt"]))
            is_first = not batch.rows and not taken
            fits = len(request["seeds"]) <= room and longest * (len(taken) + 1) <= self.policy.micro_tokens
            if not (fits or is_first or (not taken and len(request["seeds"]) <= room)):
                break
            taken.append(request)
            room -= len(request["seeds"])
        return taken

    @torch.no_grad()
    def advance(self):
        """One token of every sequence."""
        self.policy.base.eval()
        for key in {request["adapter"]: None for request in self.waiting}:
            self.batches.setdefault(key, Batch(self.policy, key))
        for key, batch in list(self.batches.items()):
            admitted = self.admissible(batch)
            self.waiting = [request for request in self.waiting if not any(request is one for one in admitted)]
            try:
                if admitted:
                    batch.admit(admitted)
                if batch.rows:
                    batch.advance()
            except Exception as error:
                ids = {request["id"] for request in admitted if not request.get("isOver")}
                ids |= {row.request["id"] for row in batch.rows if not row.request.get("isOver")}
                batch.rows, batch.cache = [], None
                for id in ids:
                    fail(id, error)
            if not batch.rows:
                del self.batches[key]


def serve(policy, options):
    trainer, sampler, inbox = Trainer(policy), Sampler(policy, options["samplesAtOnce"]), queue.Queue()
    threading.Thread(target=read_frames, args=(inbox,), daemon=True).start()
    calls = dict(score=sampler.score, **{name: getattr(trainer, name) for name in ("create", "open", "load", "save", "snapshot", "delete", "step")})
    calls["pass"] = trainer.pass_
    while True:
        command = None
        try:
            # Requests that come together are sampled together from their first token on.
            command = inbox.get(timeout=0.002) if sampler.waiting else inbox.get(block=not sampler.is_busy)
        except queue.Empty:
            sampler.advance()
            continue
        id, op = command["id"], command.pop("op")
        try:
            if op == "cancel":
                sampler.cancel(command["of"])
            elif op == "sample":
                sampler.submit(command)
            else:
                command.pop("id")
                answer = calls[op](**command)
                header, arrays = answer if isinstance(answer, tuple) else (answer, {})
                send(dict(id=id, **header), arrays)
        except Exception as error:
            fail(id, error)


def main():
    disable_progress_bar()
    options = json.loads(sys.argv[1])
    policy = Policy(options)
    send(dict(id=0, **policy.ready))
    serve(policy, options)


if __name__ == "__main__":
    try:
        main()
    except Exception as error:
        fail(0, error)
        sys.exit(1)
