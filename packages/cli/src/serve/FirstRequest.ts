/** Example requests to a server, to copy and paste: a command and a program. */

export interface FirstRequestOptions {
  readonly url: string
  readonly model: string
  readonly hasKeys: boolean
}

const question = "What is 25 + 59?"

/** Quotes the text for a shell. */
const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`

const curl = ({ hasKeys, model, url }: FirstRequestOptions) => {
  const body = { model, messages: [{ role: "user", content: question }], max_tokens: 64 }
  const headers = ["content-type: application/json", ...hasKeys ? ["authorization: Bearer <one of the keys>"] : []]
  return [
    `curl -s ${url}/oai/api/v1/chat/completions`,
    ...headers.map((header) => `-H ${quoted(header)}`),
    `-d ${quoted(JSON.stringify(body))}`
  ].join(" ")
}

const program = ({ hasKeys, model, url }: FirstRequestOptions) => {
  const settings = {
    name: "effect-rl",
    baseURL: `${url}/oai/api/v1`,
    ...hasKeys ? { apiKey: "<one of the keys>" } : {}
  }
  return [
    `import { createOpenAICompatible } from "@ai-sdk/openai-compatible"`,
    `import { generateText } from "ai"`,
    `const provider = createOpenAICompatible(${JSON.stringify(settings)})`,
    `const ask = { model: provider(${JSON.stringify(model)}), prompt: ${
      JSON.stringify(question)
    }, maxOutputTokens: 64 }`,
    `console.log((await generateText(ask)).text)`
  ]
}

export const lines = (options: FirstRequestOptions): ReadonlyArray<string> => [
  "ask it by curl:",
  `  ${curl(options)}`,
  "",
  "or with the AI SDK, npm install ai @ai-sdk/openai-compatible:",
  ...program(options).map((line) => `  ${line}`),
  ""
]
