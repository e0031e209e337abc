/** Conversations that continue an earlier response by its id; the model must read the parts that the client does not resend. */
import * as Effect from "effect/Effect"
import * as Check from "../Check.ts"
import * as Dialect from "../Dialect.ts"
import { RawRequests } from "../RawRequests.ts"

const { numberAt, textAt } = Dialect

const brief = { temperature: 0, max_output_tokens: 8 }

const ask = (fields: Dialect.Body) => Dialect.body(Dialect.responses, { ...brief, ...fields })

const outputOf = (body: Dialect.Body) => Dialect.responses.whole(body).texts.join("")

const user = (content: string) => ({ role: "user", content })

const assistant = (body: Dialect.Body) => ({ role: "assistant", content: outputOf(body) })

const shown = (body: Dialect.Body) =>
  JSON.stringify([numberAt(body, "usage", "input_tokens"), numberAt(body, "usage", "output_tokens"), outputOf(body)])

const expectSame = (what: string, found: Dialect.Body, expected: Dialect.Body) =>
  Check.expect(shown(found) === shown(expected), `${what}: ${shown(expected)}`, shown(found))

const why =
  "An agent that continues by id would otherwise lose the beginning of its conversation, or continue another one."

export const responses: Check.Check = {
  theme: "chat",
  name: "a response that continues another by its id sees the whole conversation before it, on every branch",
  why,
  run: Effect.gen(function*() {
    const { model, post } = yield* RawRequests
    const questions = ["What is 3 and 4?", "And twice that?", "Say it in French.", "Count down from nine."]
    const [one = "", two = "", three = "", other = ""] = questions
    const first = yield* ask({ input: one })
    const second = yield* ask({ input: two, previous_response_id: textAt(first, "id") })
    yield* expectSame(
      "the second turn",
      second,
      yield* ask({ input: [user(one), assistant(first), user(two)] })
    )
    const strange = yield* ask({ input: other })
    const third = yield* ask({ input: three, previous_response_id: textAt(second, "id") })
    const whole = [user(one), assistant(first), user(two), assistant(second)]
    yield* expectSame("the third turn", third, yield* ask({ input: [...whole, user(three)] }))
    const branch = yield* ask({ input: other, previous_response_id: textAt(first, "id") })
    yield* expectSame(
      "another second turn",
      branch,
      yield* ask({ input: [user(one), assistant(first), user(other)] })
    )
    const apart = yield* ask({ input: two, previous_response_id: textAt(strange, "id") })
    yield* expectSame(
      "the turn after the other second turn",
      apart,
      yield* ask({ input: [user(other), assistant(strange), user(two)] })
    )
    yield* expectSame(
      "the third turn again",
      yield* ask({ input: three, previous_response_id: textAt(second, "id") }),
      third
    )
    const wrong = yield* post(Dialect.responses.path, {
      model,
      ...brief,
      input: two,
      previous_response_id: "resp_certify_nothing"
    })
    yield* Check.expect(wrong.status >= 400 && wrong.status < 500, "a refusal of an unknown id", `HTTP ${wrong.status}`)
  })
}

export const streamed: Check.Check = {
  theme: "chat",
  name: "a streamed response can be continued by its id",
  why,
  run: Effect.gen(function*() {
    const [one, two] = ["What is 3 and 4?", "And twice that?"]
    const text = yield* Dialect.sent(Dialect.responses, { ...brief, input: one, stream: true })
    const last = Dialect.at(Dialect.eventsOf(text).at(-1), "response")
    const whole = yield* ask({ input: one })
    const second = yield* ask({ input: two, previous_response_id: textAt(last, "id") })
    yield* expectSame(
      "the turn after a stream",
      second,
      yield* ask({ input: two, previous_response_id: textAt(whole, "id") })
    )
  })
}

export const all = [responses, streamed]
