/** Servers with one wire fault each, and the check that finds it. */
import { Record } from "effect"
import type { Faults } from "./Served.ts"
import * as Wire from "./Wire.ts"

export interface Mutant extends Faults {
  /** The server … */
  readonly fault: string
  /** The theme and name of the check that finds the fault. */
  readonly foundBy: string
}

type Json = Readonly<Record<string, unknown>>

const isJson = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value)

const field = (value: unknown, name: string): unknown => isJson(value) ? value[name] : undefined

const list = (value: unknown): ReadonlyArray<unknown> => Array.isArray(value) ? value : []

const unnumbered = (body: Json): Json => Record.remove(body, "seq_id")

const always = (status: number) => ({ body }: { readonly body: Json }) => ({ status, body })

const promptOf = (tokens: ReadonlyArray<unknown>) => ({ chunks: [{ type: "encoded_text", tokens }] })

const tokensOf = (prompt: unknown) => list(field(list(field(prompt, "chunks"))[0], "tokens"))

/** A pass with one tensor changed. */
const withTensor = (body: Json, name: string, change: (tensor: Json) => Json): Json => {
  const input = field(body, "forward_backward_input")
  if (!isJson(input)) return body
  const data = list(input["data"]).map((datum) => {
    const inputs = field(datum, "loss_fn_inputs")
    const tensor = field(inputs, name)
    return isJson(datum) && isJson(inputs) && isJson(tensor)
      ? { ...datum, loss_fn_inputs: { ...inputs, [name]: change(tensor) } }
      : datum
  })
  return { ...body, forward_backward_input: { ...input, data } }
}

const filled = (tensor: Json): Json => {
  const [size] = list(tensor["shape"])
  return { ...tensor, data: Array.from({ length: Number(size) }, (_, at) => list(tensor["data"])[at] ?? 0) }
}

const service: ReadonlyArray<Mutant> = [
  {
    fault: "reports that it is unhealthy while it answers",
    foundBy: "service: a running server reports that it is healthy",
    wire: Wire.answered("/healthz", always(503))
  },
  {
    fault: "answers unknown routes with status 200",
    foundBy: "service: an unknown route is a 404",
    wire: Wire.answered("/no-such-route", always(200))
  },
  {
    fault: "crashes over a body that is not JSON",
    foundBy: "service: a body that is not JSON is a client error",
    wire: Wire.answered("/create_session", ({ body, status }) => ({ body, status: status === 200 ? 200 : 500 }))
  },
  {
    fault: "accepts heartbeats of unknown sessions",
    foundBy: "sessions: a heartbeat of an unknown session is a client error",
    wire: Wire.answered("/session_heartbeat", always(200))
  },
  {
    fault: "does not read idempotency keys",
    foundBy: "sessions: requests with the same idempotency key return the same session",
    wire: Wire.otherHeader("x-idempotency-key")
  },
  {
    fault: "keeps the models of finished sessions",
    foundBy: "sessions: the end of a session ends its models",
    wire: Wire.swallowed("POST", "/finish", 200)
  }
]

const repeats: ReadonlyArray<Mutant> = [
  {
    fault: "takes a repeated step again",
    foundBy: "repeats: a repeated optimizer step is taken once",
    wire: Wire.received("/optim_step", (body, before) => before === 0 ? body : unnumbered(body))
  },
  {
    fault: "computes a repeated pass again",
    foundBy: "repeats: a repeated pass returns the result of the first",
    wire: Wire.received("/forward_backward", (body, before) => before === 0 ? body : unnumbered(body))
  },
  {
    fault: "samples a repeated request again",
    foundBy: "repeats: a repeated sampling request returns the samples of the first",
    wire: Wire.received("/asample", unnumbered)
  },
  {
    fault: "creates a second model for a repeated request",
    foundBy: "repeats: a repeated request for a model returns the same model",
    wire: Wire.received("/create_model", (body, before) => ({ ...body, model_seq_id: 1000 * before }))
  },
  {
    fault: "gives a new request the result of an earlier one with its number",
    foundBy: "repeats: reusing a number for a different request is a client error",
    wire: Wire.answered(
      "/optim_step",
      ({ body, status }) => status === 409 ? { status: 200, body: {} } : { status, body }
    )
  },
  {
    fault: "runs requests in the order of their arrival",
    foundBy: "order: a model's requests run in the order of their numbers, not of arrival",
    wire: (client) => Wire.received("/forward", unnumbered)(Wire.received("/optim_step", unnumbered)(client))
  },
  {
    fault: "forgets a result after its first request",
    foundBy: "futures: a result can be requested again",
    wire: Wire.answered("/retrieve_future", (answer, _, before) => before === 0 ? answer : { status: 404, body: {} })
  },
  {
    fault: "answers 503 for the result of an unknown request",
    foundBy: "futures: asking for the result of an unknown request is a client error",
    wire: Wire.answered("/retrieve_future", ({ body, status }) => ({ body, status: status === 404 ? 503 : status }))
  },
  {
    fault: "accepts a cancellation without performing it",
    foundBy: "futures: a cancelled request ends",
    wire: Wire.swallowed("POST", "/cancel_future", 500)
  },
  {
    fault: "leaves one of the finished requests out of retrieve_futures",
    foundBy: "futures: retrieve_futures reports all finished requests of a sampler",
    wire: Wire.answered("/retrieve_futures", ({ body, status }) => ({
      status,
      body: { ...body, completions: list(body["completions"]).slice(1) }
    }))
  }
]

const errors: ReadonlyArray<Mutant> = [
  {
    fault: "reports client errors as server errors",
    foundBy: "errors: a loss that the server does not have is a client error",
    wire: Wire.answered("/retrieve_future", ({ body, status }) => ({ status, body: { ...body, category: "server" } }))
  },
  {
    fault: "answers 500 for an unknown model",
    foundBy: "errors: an unknown model id is a 404",
    wire: Wire.answered("/get_info", ({ body, status }) => ({ body, status: status === 404 ? 500 : status }))
  },
  {
    fault: "samples from its first model where the sampling session is unknown",
    foundBy: "errors: an unknown sampling session is a client error",
    wire: Wire.answered("/asample", always(200))
  },
  {
    fault: "fills missing weights with zeros",
    foundBy: "errors: a tensor that does not fill its shape is a client error",
    wire: Wire.received("/forward_backward", (body) => withTensor(body, "weights", filled))
  },
  {
    fault: "crashes over a request without its fields",
    foundBy: "errors: a request without a required field is a client error",
    wire: Wire.answered("/create_model", ({ body, status }) => ({ body, status: status === 422 ? 500 : status }))
  }
]

const limits: ReadonlyArray<Mutant> = [
  {
    fault: "lowers a rank that is too high",
    foundBy: "limits: a rank of a million is refused",
    wire: Wire.received("/create_model", (body) => ({ ...body, lora_config: { rank: 8 } }))
  },
  {
    fault: "cuts prompts that are too long",
    foundBy: "limits: a prompt longer than the context is refused",
    wire: Wire.received("/asample", (body) => ({ ...body, prompt: promptOf(tokensOf(body["prompt"]).slice(0, 8)) }))
  },
  {
    fault: "lowers max_tokens to what fits",
    foundBy: "limits: a prompt and max_tokens that exceed the context are refused",
    wire: Wire.received("/asample", (body) => ({ ...body, sampling_params: { max_tokens: 8 } }))
  },
  {
    fault: "clamps token ids of prompts to its vocabulary",
    foundBy: "limits: a prompt with a token id outside of the vocabulary is refused",
    wire: Wire.received("/asample", (body) => ({
      ...body,
      prompt: promptOf(tokensOf(body["prompt"]).map((token) => Math.min(Number(token), 9)))
    }))
  },
  {
    fault: "clamps targets to its vocabulary",
    foundBy: "limits: a target outside of the vocabulary is refused",
    wire: Wire.received("/forward_backward", (body) =>
      withTensor(body, "target_tokens", (tensor) => ({
        ...tensor,
        data: list(tensor["data"]).map((token) => Math.min(Number(token), 9))
      })))
  },
  {
    fault: "answers a request for no samples with one",
    foundBy: "limits: a request for no samples is refused",
    wire: Wire.received("/asample", (body) => ({ ...body, num_samples: 1 }))
  },
  {
    fault: "keeps checkpoints that are deleted",
    foundBy: "archive: a deleted checkpoint is no longer listed",
    wire: Wire.swallowed("DELETE", "/checkpoints/", 204)
  }
]

/** A sampling request with changed parameters. */
const withParams = (change: (params: Json) => Json) =>
  Wire.received("/asample", (body) => {
    const params = field(body, "sampling_params")
    return isJson(params) ? { ...body, sampling_params: change(params) } : body
  })

const isText = (stop: unknown) => typeof stop === "string" || list(stop).some((one) => typeof one === "string")

const negated = (output: unknown) => {
  const loss = field(output, "elementwise_loss")
  return isJson(output) && isJson(loss)
    ? { ...output, elementwise_loss: { ...loss, data: list(loss["data"]).map((value) => -Number(value)) } }
    : output
}

const withModelData = (body: Json, data: Json): Json => {
  const known = body["model_data"]
  return isJson(known) ? { ...body, model_data: { ...known, ...data } } : body
}

const effects: ReadonlyArray<Mutant> = [
  {
    fault: "ignores stop strings",
    foundBy: "sampling: a stop string ends a sample at the token that completes it, alone or in a list",
    wire: withParams(({ stop, ...params }) => isText(stop) ? params : { ...params, stop })
  },
  {
    fault: "scores a whole prompt where its last tokens were asked for",
    foundBy: "logprobs: prompt_logprobs_last_n scores the last tokens of a prompt and no others",
    wire: Wire.received("/asample", (body) => Record.remove(body, "prompt_logprobs_last_n"))
  },
  {
    fault: "states twice the context that it has",
    foundBy: "limits: a prompt and max_tokens that exactly fill the stated context are accepted",
    wire: Wire.answered("/get_server_capabilities", ({ body, status }) => ({
      status,
      body: {
        ...body,
        supported_models: list(body["supported_models"]).map((model) => ({
          ...(isJson(model) ? model : {}),
          max_context_length: 2 * Number(field(model, "max_context_length"))
        }))
      }
    }))
  },
  {
    fault: "keeps every checkpoint forever",
    foundBy: "checkpoints: ttl_seconds sets when a checkpoint expires, and a checkpoint without it never expires",
    wire: Wire.received("/save_weights", (body) => Record.remove(body, "ttl_seconds"))
  },
  {
    fault: "replaces a state by another of its name without being asked to",
    foundBy: "checkpoints: a state is not replaced by another with its name unless overwrite is set",
    wire: Wire.received("/save_weights", (body) => "overwrite" in body ? { ...body, overwrite: true } : body)
  },
  {
    fault: "reports the loss of every token with the other sign",
    foundBy: "losses: elementwise_loss of cross_entropy is each token's weight times its negative log-probability",
    wire: Wire.answered("/retrieve_future", ({ body, status }) => ({
      status,
      body: "loss_fn_outputs" in body ? { ...body, loss_fn_outputs: list(body["loss_fn_outputs"]).map(negated) } : body
    }))
  },
  {
    fault: "names another model's tokenizer",
    foundBy: "models: a model in training and its samplers have the same tokenizer",
    wire: Wire.answered("/get_info", ({ body, status }) => ({
      status,
      body: withModelData(body, { tokenizer_id: "openai-community/gpt2" })
    }))
  },
  {
    fault: "gives all samples of a request the same id",
    foundBy: "futures: the promise of a sampling request has a different id for each sample",
    wire: Wire.answered("/asample", ({ body, status }) => ({
      status,
      body: { ...body, sample_sequence_ids: list(body["sample_sequence_ids"]).map(() => "sample") }
    }))
  }
]

export const long: ReadonlyArray<Mutant> = [
  {
    fault: "does not replace a state although it is asked to",
    foundBy: "checkpoints: a state is replaced by another with its name if overwrite is set",
    wire: Wire.received("/save_weights", (body) => "overwrite" in body ? { ...body, overwrite: false } : body)
  },
  {
    fault: "reads numbers of requests as floats",
    foundBy: "repeats: 64-bit numbers that differ by one are separate requests",
    wire: Wire.received("/asample", (body) => body)
  }
]

export const all: ReadonlyArray<Mutant> = [...service, ...repeats, ...errors, ...limits, ...effects]
