/** Contract cases. Each checks one rule, and reports a provider that breaks it. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Outcome from "../Outcome.ts"
import { type Handle, Sandbox } from "../Sandbox.ts"
import type { SandboxError } from "../SandboxError.ts"
import type { SandboxSpec } from "../SandboxSpec.ts"

/** A provider breaks a rule of the contract. */
export class ContractViolation extends Schema.TaggedError<ContractViolation>()("ContractViolation", {
  case: Schema.String,
  expected: Schema.String,
  found: Schema.String
}) {
  override get message() {
    return `${this.case}: expected ${this.expected}, found ${this.found}`
  }
}

/** A difference from the expected result. The case adds its name. */
export class Mismatch extends Schema.TaggedError<Mismatch>()("Mismatch", {
  expected: Schema.String,
  found: Schema.String
}) {}

/** The result of a case that requires a capability that the provider does not claim. */
export const inapplicable = "inapplicable"

/** Whether the provider keeps a rule, or does not claim the capability that the rule is about. */
export type Verdict = "kept" | typeof inapplicable

export interface Case {
  readonly name: string
  readonly check: Effect.Effect<Verdict, ContractViolation, Sandbox>
}

export type Body = Effect.Effect<unknown, Mismatch | SandboxError, Sandbox | Scope.Scope>

/** A case that passes if its body succeeds. A `SandboxError` that the body does not expect breaks the rule. */
export const make = (name: string, body: Body): Case => ({
  name,
  check: body.pipe(
    Effect.scoped,
    Effect.map((found): Verdict => found === inapplicable ? inapplicable : "kept"),
    Effect.mapError((error) =>
      error._tag === "Mismatch"
        ? new ContractViolation({ case: name, expected: error.expected, found: error.found })
        : new ContractViolation({ case: name, expected: "the provider to do what it was asked", found: error.message })
    )
  )
})

export const expect = (holds: boolean, expected: string, found: unknown): Effect.Effect<void, Mismatch> =>
  holds ? Effect.void : Effect.fail(new Mismatch({ expected, found: String(found) }))

export const expectEqual = (what: string, found: unknown, expected: unknown) =>
  expect(found === expected, `${what} to be ${JSON.stringify(expected)}`, JSON.stringify(found))

/** An outcome as one line, for the message of a violation. */
export const show = (outcome: Outcome.Outcome): string => {
  const { stderr, stdout, wallMillis: _, ...rest } = outcome
  const shown = (bytes: Uint8Array) => JSON.stringify(Outcome.text(bytes.subarray(-300)))
  return `${JSON.stringify(rest)} with stdout ${shown(stdout)} and stderr ${shown(stderr)}`
}

export const expectOutcome = (outcome: Outcome.Outcome, holds: boolean, expected: string) =>
  expect(holds, expected, show(outcome))

/** Expects that the program printed the text and exited with 0. */
export const expectPrinted = (outcome: Outcome.Outcome, text: string) =>
  expectOutcome(
    outcome,
    Outcome.is("Exited")(outcome) && outcome.code === 0 && Outcome.text(outcome.stdout).trimEnd() === text,
    `exit code 0 after ${JSON.stringify(text)}`
  )

export const expectTag = (outcome: Outcome.Outcome, ...tags: ReadonlyArray<Outcome.Outcome["_tag"]>) =>
  expectOutcome(outcome, tags.includes(outcome._tag), tags.join(" or "))

/** Expects that the effect fails with the given reason. */
export const expectRefusal = <A, R>(
  effect: Effect.Effect<A, SandboxError, R>,
  reason: SandboxError["reason"]["_tag"]
): Effect.Effect<void, Mismatch, R> =>
  Effect.matchEffect(effect, {
    onSuccess: () => Effect.fail(new Mismatch({ expected: `failure as ${reason}`, found: "success" })),
    onFailure: (error) => expect(error.reason._tag === reason, `failure as ${reason}`, error.message)
  })

/** The same program in each runtime. */
export interface Program {
  readonly python?: string
  readonly shell?: string
}

/** An open sandbox and a way to run one program in it. */
export interface Place {
  readonly handle: Handle
  readonly run: (
    program: Program,
    options?: { readonly args?: ReadonlyArray<string>; readonly stdin?: string | Uint8Array }
  ) => Effect.Effect<Outcome.Outcome, SandboxError>
}

const argvOf = (runtime: string, { python = "", shell = "" }: Program): readonly [string, ...Array<string>] =>
  runtime === "python" ? ["python3", "-c", python] : ["sh", "-c", shell, "sh"]

/** Opens a sandbox for commands that the contract vouches for, so providers that refuse sampled code can be tested too. */
export const open = (spec: Partial<SandboxSpec> = {}): Effect.Effect<Place, SandboxError, Sandbox | Scope.Scope> =>
  Effect.gen(function*() {
    const sandbox = yield* Sandbox
    const runtime = sandbox.capabilities.runtimes.includes("python") ? "python" : "shell"
    const handle = yield* sandbox.open({ runtime, role: "grader", code: "scripted", ...spec })
    return {
      handle,
      run: (program, options = {}) =>
        handle.exec({
          argv: [...argvOf(runtime, program), ...options.args ?? []],
          ...(options.stdin === undefined ? {} : { stdin: options.stdin })
        })
    }
  })

/** The body if the provider has the capability, else `inapplicable`. */
export const where = (
  holds: (service: Sandbox["Service"]) => boolean,
  body: Body
): Body => Effect.flatMap(Sandbox, (service) => holds(service) ? body : Effect.succeed(inapplicable))

export const runsPython = ({ capabilities }: Sandbox["Service"]) => capabilities.runtimes.includes("python")

/** Whether the provider isolates programs at all. */
export const isConfined = ({ capabilities }: Sandbox["Service"]) => capabilities.isolation !== "none"
