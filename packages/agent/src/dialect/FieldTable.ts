/**
 * How each request field is treated; the guide's table is made from it. Fields that every sampler supports are in the request schemas
 * instead.
 *
 * @example
 * const ignored = FieldTable.rows.filter(({ treatment }) => treatment === "no effect").map(({ path }) => path)
 */

/** The endpoint whose requests have the field. */
export type Kind = "chat completions" | "completions" | "responses" | "messages"

/**
 * - `no effect`: accepted, as it changes no answer, and noted for the record
 * - `given`: takes effect
 * - `held`: takes effect if the backend supports grammars. Otherwise it is refused by name or, for a lenient caller, accepted with a
 *   warning, and each reply is checked and reported
 * - `not given`: refused by name or, for a lenient caller, dropped with a warning in the answer
 * - `refused`: refused by name for every caller, because the request would mean something else without it
 */
export type Treatment = "no effect" | "given" | "held" | "not given" | "refused"

/** A field. In its path, `[]` stands for each list element. */
export interface Row {
  readonly kinds: ReadonlyArray<Kind>
  readonly path: string
  readonly treatment: Treatment
  readonly because: string
  /** Values other than null that request nothing and are accepted silently. */
  readonly usual: ReadonlyArray<unknown>
}

type Paths = Readonly<Record<string, ReadonlyArray<unknown>>>

const rowsOf = (treatment: Treatment) => (kinds: ReadonlyArray<Kind>, because: string, paths: Paths) =>
  Object.entries(paths).map(([path, usual]): Row => ({ kinds, path, treatment, because, usual }))

const noEffect = rowsOf("no effect")
const given = rowsOf("given")
const held = rowsOf("held")
const notGiven = rowsOf("not given")
const refused = rowsOf("refused")

const chat: ReadonlyArray<Kind> = ["chat completions"]
const completions: ReadonlyArray<Kind> = ["completions"]
const responses: ReadonlyArray<Kind> = ["responses"]
const messages: ReadonlyArray<Kind> = ["messages"]
const conversations: ReadonlyArray<Kind> = ["chat completions", "responses"]
const openAi: ReadonlyArray<Kind> = ["chat completions", "completions", "responses"]
const all: ReadonlyArray<Kind> = [...openAi, "messages"]

const notStored = "no conversations are stored: give previous_response_id, or send the whole conversation as input"
const keptPrompts = "backends choose which prompts to cache"
const byGrammar = "a grammar constrains the answer if no tools are sent"
const byCallGrammar = "a grammar constrains calls if the renderer writes them as JSON"
const noBias = "no backend here supports biases"
const noTools = "this server runs no tools: give your own as functions"
const noModeration = "no answer is moderated"

export const rows: ReadonlyArray<Row> = [
  ...noEffect(openAi, "names do not affect answers", { user: [] }),
  ...noEffect(conversations, "names do not affect answers", { safety_identifier: [] }),
  ...noEffect(["chat completions", "messages"], "names do not affect answers", { metadata: [] }),
  ...noEffect(messages, "names do not affect answers", { user_profile_id: [], workspace_id: [], inference_geo: [] }),
  ...noEffect(conversations, "answers are kept for a while in any case, and cannot be fetched later", {
    store: []
  }),
  ...noEffect(conversations, keptPrompts, {
    prompt_cache_key: [],
    prompt_cache_options: [],
    prompt_cache_retention: []
  }),
  ...noEffect(chat, keptPrompts, {
    "messages[].cache_control": [],
    "messages[].content[].cache_control": [],
    "tools[].cache_control": []
  }),
  ...noEffect(messages, keptPrompts, {
    cache_control: [],
    "system[].cache_control": [],
    "tools[].cache_control": [],
    "messages[].cache_control": [],
    "messages[].content[].cache_control": [],
    "messages[].content[].content[].cache_control": []
  }),
  ...noEffect(all, "there is only one speed", { service_tier: [] }),
  ...noEffect(messages, "there is only one speed", { speed: [] }),
  ...noEffect(chat, "every token is sampled", { prediction: [] }),
  ...noEffect(messages, "the input of a call is sent once it is complete", { "tools[].eager_input_streaming": [] }),
  ...noEffect(["responses", "messages"], "the conversation is read as it is sent", { context_management: [] }),
  ...noEffect(messages, "no answer is diagnosed", { diagnostics: [] }),
  ...noEffect(responses, "this server runs no tools", { max_tool_calls: [] }),
  ...noEffect(responses, "names do not affect answers", { client_metadata: [] }),
  ...noEffect(responses, "reasoning is returned as it was sampled", {
    "reasoning.summary": [],
    "reasoning.generate_summary": [],
    "input[].encrypted_content": []
  }),
  ...noEffect(["chat completions", "completions"], "no chunk is padded", { "stream_options.include_obfuscation": [] }),
  ...noEffect(responses, "no chunk is padded", { stream_options: [] }),

  ...given(["chat completions", "completions"], "so many replies", { n: [] }),
  ...given(
    ["chat completions", "completions"],
    "makes the answer repeatable; in an agent's session the run chooses it, which the record says",
    {
      seed: []
    }
  ),
  ...given(
    ["chat completions", "completions"],
    "ids of the prompt (`prompt_token_ids`) and of each reply (`token_ids`)",
    {
      return_token_ids: []
    }
  ),
  ...given(
    ["responses", "messages"],
    "ids of the prompt (`prompt_token_ids`) and of the reply (`token_ids`); in a stream in its last event with content",
    { return_token_ids: [] }
  ),
  ...given(completions, "one text, a list of texts, ids, or a list of lists of ids", { prompt: [] }),
  ...given(completions, "the prompt before the reply, with `logprobs` for its tokens; in a stream in one chunk", {
    echo: []
  }),
  ...given(completions, "0 with `echo` scores only the prompt", { max_tokens: [] }),
  ...given(chat, "for the sampled tokens, with `top_logprobs` beside them; an agent's session has none beside them", {
    logprobs: []
  }),
  ...given(
    responses,
    "functions, custom tools, which take a text, and namespaces of both; a grammar is shown to the model but not enforced",
    { tools: [] }
  ),
  ...given(responses, "`message.output_text.logprobs`; `reasoning.encrypted_content` has no effect", { include: [] }),
  ...given(conversations, "`false` ends a reply after its first call", { parallel_tool_calls: [] }),
  ...given(messages, "`true` ends a reply after its first call", { "tool_choice.disable_parallel_tool_use": [] }),
  ...given(chat, "the renderer's mode of reasoning, where it has that mode; otherwise not given", {
    reasoning_effort: [],
    "chat_template_kwargs.enable_thinking": []
  }),
  ...given(responses, "the renderer's mode of reasoning, where it has that mode; otherwise not given", {
    "reasoning.effort": []
  }),
  ...given(messages, "the renderer's mode of reasoning, where it has that mode; otherwise not given", {
    thinking: [],
    "output_config.effort": []
  }),
  ...given(
    messages,
    "threads are kept for a while; a thread that is no longer kept is refused, so that clients send the whole conversation",
    { thread: [] }
  ),
  ...given(
    responses,
    "responses and their items are kept for a while; a reference to one that is no longer kept is refused: send the whole conversation as input",
    { previous_response_id: [] }
  ),
  ...given(["chat completions", "messages"], "messages of the role `system` anywhere", { messages: [] }),

  ...held(chat, byGrammar, { response_format: [] }),
  ...held(responses, byGrammar, { "text.format": [] }),
  ...held(messages, byGrammar, { "output_config.format": [] }),
  ...held(chat, byCallGrammar, { "tools[].function.strict": [] }),
  ...held(["responses", "messages"], byCallGrammar, { "tools[].strict": [] }),
  ...held(
    all.filter((kind) => kind !== "completions"),
    "a grammar constrains a forced call if the renderer writes calls as JSON; `auto` and `none` are given",
    { tool_choice: [] }
  ),

  ...notGiven(["chat completions", "completions"], noBias, {
    logit_bias: [{}],
    presence_penalty: [0],
    frequency_penalty: [0],
    repetition_penalty: [1],
    min_p: [0]
  }),
  ...notGiven(completions, "every reply is shown", { best_of: [1] }),
  ...notGiven(messages, "only `max_tokens` bounds a reply", { "thinking.budget_tokens": [] }),
  ...notGiven(messages, "reasoning is returned as it was sampled", { "thinking.display": ["summarized", "full"] }),
  ...notGiven(chat, "put it into the messages", { verbosity: ["medium"] }),
  ...notGiven(responses, "put it into the input", { "text.verbosity": ["medium"] }),
  ...notGiven(chat, "answers are text", { audio: [], modalities: [["text"]] }),
  ...notGiven(responses, "answers are text", { image: [] }),
  ...notGiven(chat, "give your own search as a tool", { web_search_options: [] }),
  ...notGiven(conversations, noModeration, { moderation: [] }),
  ...notGiven(responses, "there are no programs", { access_programs: [] }),
  ...notGiven(responses, "no response is made in the background", { background_options: [] }),
  ...notGiven(responses, "a conversation that is too long is refused", { truncation: ["disabled"] }),
  ...notGiven(messages, noTools, { container: [], mcp_servers: [[]] }),
  ...notGiven(messages, "every tool is shown to the model, by its description alone", {
    "tools[].defer_loading": [false],
    "tools[].input_examples": [[]],
    "tools[].allowed_callers": [["direct"]]
  }),

  ...refused(chat, "give tools and tool_choice", { function_call: [], functions: [] }),
  ...refused(completions, "no model here fills in text before a suffix", { suffix: [""] }),
  ...refused(responses, notStored, { conversation: [] }),
  ...refused(responses, "no prompt is stored", { prompt: [] }),
  ...refused(responses, "no response is made in the background", { background: [false] })
]

const meanings: Readonly<Record<Treatment, string>> = {
  "no effect": "accepted, no effect",
  given: "given",
  held: "given, or refused, or checked",
  "not given": "refused, or left out",
  refused: "refused"
}

/** The table in Markdown, with one row for each group of fields that share a reason. */
export const markdown = (): string => {
  const groups = new Map<string, Array<string>>()
  for (const { because, kinds, path, treatment } of rows) {
    const key = `${meanings[treatment]} | ${kinds.join(", ")} | ${because}`
    groups.set(key, [...groups.get(key) ?? [], `\`${path}\``])
  }
  return [...groups].map(([key, paths]) => `| ${paths.join(", ")} | ${key} |`).join("\n")
}
