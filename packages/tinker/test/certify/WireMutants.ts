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
    fault: "calls itself ill while it answers",
    foundBy: "service: a server that answers says that it is well",
    wire: Wire.answered("/healthz", always(503))
  },
  {
    fault: "takes every route for one that it serves",
    foundBy: "service: a route that is not served is a 404",
    wire: Wire.answered("/no-such-route", always(200))
  },
  {
    fault: "crashes over a body that is not JSON",
    foundBy: "service: a body that is not JSON is the client's fault",
    wire: Wire.answered("/create_session", ({ body, status }) => ({ body, status: status === 200 ? 200 : 500 }))
  },
  {
    fault: "keeps any session alive that is named",
    foundBy: "sessions: a heartbeat of a session that is not there is the client's fault",
    wire: Wire.answered("/session_heartbeat", always(200))
  },
  {
    fault: "does not read idempotency keys",
    foundBy: "sessions: the same idempotency key gives the same session",
    wire: Wire.otherHeader("x-idempotency-key")
  },
  {
    fault: "keeps the models of finished sessions",
    foundBy: "sessions: a finished session takes its models with it",
    wire: Wire.swallowed("POST", "/finish", 200)
  }
]

const repeats: ReadonlyArray<Mutant> = [
  {
    fault: "takes a step again that is sent again",
    foundBy: "repeats: an optimizer step that is sent again is taken once",
    wire: Wire.received("/optim_step", (body, before) => before === 0 ? body : unnumbered(body))
  },
  {
    fault: "computes a pass again that is sent again",
    foundBy: "repeats: a pass that is sent again has the result of the first",
    wire: Wire.received("/forward_backward", (body, before) => before === 0 ? body : unnumbered(body))
  },
  {
    fault: "samples anew for a request that is sent again",
    foundBy: "repeats: a request to sample that is sent again has the samples of the first",
    wire: Wire.received("/asample", unnumbered)
  },
  {
    fault: "makes a second model for a request that is sent again",
    foundBy: "repeats: a model that is asked for again is the same model",
    wire: Wire.received("/create_model", (body, before) => ({ ...body, model_seq_id: 1000 * before }))
  },
  {
    fault: "gives a new request the result of an older one of its number",
    foundBy: "repeats: a number that was used for another request is the client's fault",
    wire: Wire.answered(
      "/optim_step",
      ({ body, status }) => status === 409 ? { status: 200, body: {} } : { status, body }
    )
  },
  {
    fault: "runs requests in the order of their arrival",
    foundBy: "order: requests of a model run by their numbers, whichever arrives first",
    wire: (client) => Wire.received("/forward", unnumbered)(Wire.received("/optim_step", unnumbered)(client))
  },
  {
    fault: "forgets a result that was asked for",
    foundBy: "futures: a result can be asked for again",
    wire: Wire.answered("/retrieve_future", (answer, _, before) => before === 0 ? answer : { status: 404, body: {} })
  },
  {
    fault: "blames itself for requests that never were",
    foundBy: "futures: the result of a request that never was is the client's fault",
    wire: Wire.answered("/retrieve_future", ({ body, status }) => ({ body, status: status === 404 ? 503 : status }))
  },
  {
    fault: "cannot be told to cancel, and does not say so",
    foundBy: "futures: a request that is cancelled comes to an end",
    wire: Wire.swallowed("POST", "/cancel_future", 500)
  },
  {
    fault: "loses one of the finished requests that it tells together",
    foundBy: "futures: the finished requests of a sampler are told together",
    wire: Wire.answered("/retrieve_futures", ({ body, status }) => ({
      status,
      body: { ...body, completions: list(body["completions"]).slice(1) }
    }))
  }
]

const errors: ReadonlyArray<Mutant> = [
  {
    fault: "calls mistakes of the client its own",
    foundBy: "errors: a loss that the server does not have is the client's fault",
    wire: Wire.answered("/retrieve_future", ({ body, status }) => ({ status, body: { ...body, category: "server" } }))
  },
  {
    fault: "answers 500 for a model that nobody has",
    foundBy: "errors: an unknown model id is a 404",
    wire: Wire.answered("/get_info", ({ body, status }) => ({ body, status: status === 404 ? 500 : status }))
  },
  {
    fault: "samples from its first model where the sampling session is unknown",
    foundBy: "errors: an unknown sampling session is the client's fault",
    wire: Wire.answered("/asample", always(200))
  },
  {
    fault: "fills missing weights with zeros",
    foundBy: "errors: a tensor that does not fill its shape is the client's fault",
    wire: Wire.received("/forward_backward", (body) => withTensor(body, "weights", filled))
  },
  {
    fault: "crashes over a request without its fields",
    foundBy: "errors: a request without a field that it needs is the client's fault",
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
    foundBy: "archive: a checkpoint that is deleted is gone",
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
    foundBy: "sampling: a stop string ends a sample at the token that completes it, alone or as one of several",
    wire: withParams(({ stop, ...params }) => isText(stop) ? params : { ...params, stop })
  },
  {
    fault: "scores a whole prompt where its last tokens were asked for",
    foundBy: "logprobs: prompt_logprobs_last_n scores the last tokens of a prompt and no others",
    wire: Wire.received("/asample", (body) => Record.remove(body, "prompt_logprobs_last_n"))
  },
  {
    fault: "states twice the context that it has",
    foundBy: "limits: a prompt and max_tokens that fill the stated context are answered",
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
    fault: "keeps every checkpoint for ever",
    foundBy: "checkpoints: ttl_seconds says when a checkpoint expires, and a checkpoint without it stays",
    wire: Wire.received("/save_weights", (body) => Record.remove(body, "ttl_seconds"))
  },
  {
    fault: "replaces a state by another of its name without being asked to",
    foundBy: "checkpoints: a state is not replaced by another of its name without overwrite",
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
    foundBy: "models: the tokenizer of a model in training is that of its samplers",
    wire: Wire.answered("/get_info", ({ body, status }) => ({
      status,
      body: withModelData(body, { tokenizer_id: "openai-community/gpt2" })
    }))
  },
  {
    fault: "names every sample alike",
    foundBy: "futures: the promise of samples names each of them, and no two alike",
    wire: Wire.answered("/asample", ({ body, status }) => ({
      status,
      body: { ...body, sample_sequence_ids: list(body["sample_sequence_ids"]).map(() => "sample") }
    }))
  }
]

export const long: ReadonlyArray<Mutant> = [
  {
    fault: "does not replace a state although it is asked to",
    foundBy: "checkpoints: a state is replaced by another of its name with overwrite",
    wire: Wire.received("/save_weights", (body) => "overwrite" in body ? { ...body, overwrite: false } : body)
  },
  {
    fault: "reads numbers of requests as floats",
    foundBy: "repeats: numbers of 64 bits that differ by one are two requests",
    wire: Wire.received("/asample", (body) => body)
  }
]

export const all: ReadonlyArray<Mutant> = [...service, ...repeats, ...errors, ...limits, ...effects]
