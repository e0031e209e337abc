import { Setting } from "@effect-rl/core"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Schema } from "effect"

const Limits = Schema.Struct({
  maxTurns: Setting.int({ least: 1, help: "Turns of an episode", identity: true }),
  turnTimeout: Setting.duration({ help: "Longest time for one turn" })
})

const Settings = Schema.Struct({
  maxTokens: Setting.int({
    least: 1,
    most: 4096,
    default: 256,
    unit: "tokens",
    help: "Longest response",
    identity: true
  }),
  temperature: Setting.number({ above: 0, default: 1, help: "Temperature", identity: true }),
  share: Setting.number({ least: 0, most: 1, default: 0.2, help: "Share" }),
  loss: Setting.choice({ choices: ["ppo", "cispo"], default: "ppo", help: "Loss", identity: true }),
  renew: Setting.toggle({ default: false, help: "Renew", identity: true }),
  from: Setting.text({ help: "Weights to start from; the base model unless given", identity: true }),
  interruptTimeout: Setting.duration({ default: "5 minutes", help: "Longest wait", identity: true }),
  limits: Setting.group(Limits)
})

const refusal = (given: unknown) => Effect.flip(Setting.decode(Settings, given, "sampling"))

describe("setting defaults", () => {
  it("are the given values; settings without a default are omitted", () => {
    assert.deepStrictEqual(Setting.defaults(Settings), {
      maxTokens: 256,
      temperature: 1,
      share: 0.2,
      loss: "ppo",
      renew: false,
      interruptTimeout: "5 minutes",
      limits: {}
    })
  })

  it("can be read from a field, as can its help, unit, choices and accepted values", () => {
    assert.deepStrictEqual(Setting.of(Settings.fields.maxTokens), {
      kind: "int",
      expected: "a whole number from 1 to 4096",
      default: 256,
      unit: "tokens",
      help: "Longest response",
      identity: true
    })
    assert.deepStrictEqual(Setting.of(Settings.fields.loss)?.choices, ["ppo", "cispo"])
    assert.isUndefined(Setting.of(Schema.String))
  })
})

describe("decoding settings", () => {
  it.effect("keeps given values and adds defaults", () =>
    Effect.gen(function*() {
      const decoded = yield* Setting.decode(Settings, { maxTokens: 8, limits: { maxTurns: 2 } })
      assert.deepStrictEqual(decoded, { ...Setting.defaults(Settings), maxTokens: 8, limits: { maxTurns: 2 } })
    }))

  const cases: ReadonlyArray<readonly [given: object, field: string, found: string, expected: string]> = [
    [{ maxTokens: 0 }, "sampling.maxTokens", "0", "a whole number from 1 to 4096"],
    [{ maxTokens: 1.5 }, "sampling.maxTokens", "1.5", "a whole number from 1 to 4096"],
    [{ maxTokens: "8" }, "sampling.maxTokens", "\"8\"", "a whole number from 1 to 4096"],
    [{ temperature: NaN }, "sampling.temperature", "NaN", "a number above 0"],
    [{ share: 2 }, "sampling.share", "2", "a number from 0 up to 1"],
    [{ loss: "pppo" }, "sampling.loss", "\"pppo\"", "\"ppo\" or \"cispo\""],
    [{ renew: "yes" }, "sampling.renew", "\"yes\"", "true or false"],
    [{ from: null }, "sampling.from", "null", "a text"],
    [
      { interruptTimeout: "5 parsecs" },
      "sampling.interruptTimeout",
      "\"5 parsecs\"",
      "a time above 0, such as \"2 minutes\""
    ],
    [{ interruptTimeout: 0 }, "sampling.interruptTimeout", "0", "a time above 0, such as \"2 minutes\""],
    [{ limits: { maxTurns: 0 } }, "sampling.limits.maxTurns", "0", "a whole number of at least 1"],
    [{ limits: 3 }, "sampling.limits", "3", "an object of settings"],
    [
      { limits: { maxTurn: 3 } },
      "sampling.limits.maxTurn",
      "3",
      "the name of a setting: did you mean \"maxTurns\"? Choose from: maxTurns, turnTimeout"
    ]
  ]
  for (const [given, field, found, expected] of cases) {
    it.effect(`refuses ${JSON.stringify(given)} with its field, value and expectation`, () =>
      Effect.gen(function*() {
        const error = yield* refusal(given)
        assert.strictEqual(error._tag, "InvalidOption")
        assert.deepStrictEqual([error.field, error.found, error.expected], [field, found, expected])
      }))
  }

  it.prop(
    "accepts a whole number only within the range",
    [Schema.Int],
    ([value]) => {
      const decoded = Effect.runSync(Effect.option(Setting.decode(Settings, { maxTokens: value })))
      assert.strictEqual(decoded._tag, value >= 1 && value <= 4096 ? "Some" : "None")
    }
  )

  it.prop(
    "leaves decoded settings unchanged",
    [Schema.Struct({ maxTokens: Schema.Int, temperature: Schema.Finite, renew: Schema.Boolean, from: Schema.String })],
    ([given]) => {
      const once = Effect.runSync(Effect.option(Setting.decode(Settings, given)))
      if (once._tag === "None") return
      assert.deepStrictEqual(Effect.runSync(Setting.decode(Settings, once.value)), once.value)
    }
  )
})

describe("a setting identity", () => {
  it("contains marked settings in snake case, durations in seconds and omitted settings as null", () => {
    const settings = { ...Setting.defaults(Settings), interruptTimeout: Duration.minutes(2), limits: { maxTurns: 3 } }
    assert.deepStrictEqual(Setting.identity(Settings, settings), {
      max_tokens: 256,
      temperature: 1,
      loss: "ppo",
      renew: false,
      from: null,
      interrupt_timeout: 120,
      limits: { max_turns: 3 }
    })
  })

  it.prop(
    "differs only if a marked setting differs",
    [Schema.Literals([1, 2]), Schema.Literals([1, 2]), Schema.Literals([0, 1])],
    ([left, right, share]) => {
      const of = (maxTokens: number, share: number) =>
        JSON.stringify(Setting.identity(Settings, { ...Setting.defaults(Settings), maxTokens, share }))
      assert.strictEqual(of(left, share) === of(right, 1 - share), left === right)
    }
  )
})

const Program = Schema.Struct({
  sampling: Setting.group(Settings),
  kl: Setting.group(
    Schema.Struct({ coefficient: Setting.number({ least: 0, default: 0, help: "Weight", identity: true }) }),
    { coefficient: "klCoefficient" }
  ),
  steps: Setting.int({ least: 1, help: "Steps" })
})

describe("settings of several groups", () => {
  const Beside = Schema.Struct(Setting.flat(Program))

  it("have the names that their groups define", () => {
    assert.deepStrictEqual(Object.keys(Beside.fields), [
      ...Object.keys(Settings.fields).filter((name) => name !== "limits"),
      "maxTurns",
      "turnTimeout",
      "klCoefficient",
      "steps"
    ])
  })

  it("are sorted into their groups, without missing or unknown settings", () => {
    const beside = { ...Setting.defaults(Beside), klCoefficient: 0.5, maxTurns: 3, mine: true }
    const { limits, ...sampling } = Setting.defaults(Settings)
    assert.deepStrictEqual(Setting.nest(Program, beside), {
      sampling: { ...sampling, limits: { ...limits, maxTurns: 3 } },
      kl: { coefficient: 0.5 }
    })
  })

  it("may override a default and keep the check and help", () => {
    const field = Setting.withDefault(Settings.fields.maxTokens, 8)
    const { default: _, ...described } = Setting.of(field) ?? {}
    assert.deepInclude(Setting.of(Settings.fields.maxTokens), described)
    assert.deepStrictEqual(Setting.defaults(Schema.Struct({ field })), { field: 8 })
    const most = Setting.withDefault(Program.fields.steps, 2)
    assert.deepStrictEqual(Setting.defaults(Schema.Struct({ most })), { most: 2 })
  })
})

describe("settings sent over a wire", () => {
  const given = { sampling: { interruptTimeout: "2 seconds", limits: { turnTimeout: Duration.minutes(1) } } } as const

  it("have durations in milliseconds and decode to the sent values", () => {
    const sent = Setting.send(Program, given)
    assert.deepStrictEqual(sent, { sampling: { interruptTimeout: 2000, limits: { turnTimeout: 60_000 } } })
    assert.deepStrictEqual(Schema.decodeUnknownSync(Setting.sent(Program))(JSON.parse(JSON.stringify(sent))), sent)
  })

  it("are refused if a setting has the wrong type", () => {
    assert.throws(() => Schema.decodeUnknownSync(Setting.sent(Program))({ kl: { coefficient: "much" } }))
  })
})

describe("checks of individual settings", () => {
  it("name the path of the first invalid setting and accept missing settings", () => {
    const checks = Setting.checks(Program)
    assert.isTrue(checks({}).every(({ holds }) => holds))
    const broken = checks({ sampling: { limits: { maxTurns: 0 } } }, "rollout.").filter(({ holds }) => !holds)
    assert.deepStrictEqual(broken.map(({ expected, field }) => [field, expected]), [
      ["rollout.sampling.limits.maxTurns", "a whole number of at least 1"]
    ])
  })
})

describe("setting sections", () => {
  const Adapter = Schema.Struct({ rank: Setting.int({ least: 1, default: 8, help: "Rank" }) }).annotate({
    title: "Adapter"
  })
  const Run = Schema.Struct({ seed: Setting.int({ least: 0, help: "Seed" }), lora: Setting.group(Adapter) })

  it("are the titles of the structs that have one", () => {
    const { rank, seed } = Setting.flat(Run)
    assert.strictEqual(Setting.of(rank)?.section, "Adapter")
    assert.strictEqual(Setting.of(seed)?.section, undefined)
    assert.strictEqual(Setting.of(Adapter.fields.rank)?.section, undefined)
  })

  it("change neither defaults nor checks", () => {
    const flat = Schema.Struct(Setting.flat(Run))
    assert.deepStrictEqual(Setting.defaults(flat), { rank: 8 })
    assert.isFalse(Schema.is(flat)({ rank: 0 }))
  })
})
