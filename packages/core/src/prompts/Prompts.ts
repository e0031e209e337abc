/**
 * Reflective optimisation of a task's instruction, in the manner of GEPA (Agrawal et al., arXiv 2507.19457, algorithms 1 and 2, without its
 * merges). The weights stay as they are: a model reads episodes with their rewards and feedback, and writes the next instruction.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Ref from "effect/Ref"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { Tinker } from "../backend/Tinker.ts"
import type { TinkerError } from "../backend/TinkerError.ts"
import * as Epochs from "../data/Epochs.ts"
import type { EnvGroupBuilder } from "../env/EnvGroupBuilder.ts"
import type { Evaluator } from "../evaluate/Evaluator.ts"
import * as Policy from "../policy/Policy.ts"
import * as SamplingSettings from "../policy/SamplingSettings.ts"
import type { Json } from "../records/Json.ts"
import * as RunRecord from "../records/RunRecord.ts"
import { type RunError, RunStore } from "../records/RunStore.ts"
import * as Seed from "../records/Seed.ts"
import * as Statistics from "../records/Statistics.ts"
import * as Usage from "../records/Usage.ts"
import * as FailurePolicy from "../rollout/FailurePolicy.ts"
import { GroupLog } from "../rollout/GroupLog.ts"
import * as GroupResult from "../rollout/GroupResult.ts"
import * as Rollout from "../rollout/Rollout.ts"
import type { RolloutError } from "../rollout/RolloutError.ts"
import * as Program from "../run/Program.ts"
import * as Run from "../run/Run.ts"
import * as Segments from "../run/Segments.ts"
import { InvalidOption } from "../settings/InvalidOption.ts"
import * as Pool from "./Pool.ts"
import * as PromptsOptions from "./PromptsOptions.ts"
import * as Reflection from "./Reflection.ts"

export type { PromptsOptions as Options } from "./PromptsOptions.ts"

/** The errors of every run, in addition to those of its environments, its reflector and its evaluators. */
export type Error = RolloutError | Run.Error

/** The state from which a run resumes: its next iteration, the episodes sampled so far, and the candidates. */
const Cursor = Schema.Struct({ iteration: Schema.Int, rollouts: Schema.Int, pool: Pool.Pool })
interface Cursor extends Schema.Schema.Type<typeof Cursor> {}

type Element = Program.Progress | Program.Iteration<Cursor>

type Groups<E, R> = ReadonlyArray<EnvGroupBuilder<E, R>>
type Results = ReadonlyArray<GroupResult.GroupResult>
type Proposal = NonNullable<RunRecord.Sampling["proposal"]>

/** The digest by which records name an instruction. */
const digestOf = (instruction: string) => Epochs.hashOf([instruction])

const sizeOf = (groups: Groups<unknown, unknown>) => groups.reduce((sum, { size }) => sum + size, 0)

/** The mean reward of each group. */
const scoresOf = (results: Results) =>
  results.map((result) => GroupResult.isSkipped(result) ? NaN : Statistics.mean(result.rewardsG))

/** The mean reward of all members, and its standard error over the groups. */
const rewardOf = (results: Results): RunRecord.Reward => {
  const rewardsG = results.flatMap((result) => GroupResult.isSkipped(result) ? [] : [Array.from(result.rewardsG)])
  const standardError = Statistics.clusteredStandardError(rewardsG)
  return { mean: Statistics.mean(rewardsG.flat()), ...(standardError === undefined ? {} : { standardError }) }
}

/** Reports progress as each group ends, then continues with all results. */
const collecting = <E, R, E2, R2>(
  groups: Stream.Stream<GroupResult.GroupResult, E, R>,
  next: (results: Results) => Stream.Stream<Element, E2, R2>
): Stream.Stream<Element, E | E2, R | R2> =>
  Stream.suspend(() => {
    const results: Array<GroupResult.GroupResult> = []
    return groups.pipe(
      Stream.map((result): Element => {
        results.push(result)
        return Program.progress()
      }),
      Stream.concat(Stream.suspend(() => next(results)))
    )
  })

/** A proposal in the records. */
interface RecordedProposal {
  readonly iteration: number
  readonly proposal: Proposal
}

/** The proposals in the records, oldest first; also those of iterations that the resumed run repeats. */
const recordedProposals = Effect.gen(function*() {
  const records = yield* Stream.runCollect((yield* RunStore).read)
  const identity = records.findLast(RunRecord.guards.Opened)?.identity ?? {}
  return Segments.of(records, identity).filter(RunRecord.guards.Sampling).flatMap(({ iteration, proposal }) =>
    proposal === undefined ? [] : [{ iteration, proposal }]
  )
})

/** The results of an iteration: the minibatch of the parent and, if the reflector wrote a child, that of the child. */
interface Tried {
  readonly parent: number
  readonly minibatches: ReadonlyArray<Results>
  readonly refusals: ReadonlyArray<Reflection.Refusal>
  /** The child, if it was better than its parent. */
  readonly accepted?: Pool.Candidate
}

const metricsOf = ({ accepted, minibatches, parent, refusals }: Tried, { iteration, pool, rollouts }: Cursor) => {
  const [parentReward = NaN, childReward] = minibatches.map((results) => rewardOf(results).mean)
  const best = Pool.best(pool)
  return {
    "progress/batch": iteration - 1,
    "prompts/parent": parent,
    "prompts/parent_reward": parentReward,
    ...(childReward === undefined ? {} : { "prompts/child_reward": childReward }),
    "prompts/accepted": accepted === undefined ? 0 : 1,
    ...(accepted === undefined ? {} : { "prompts/child_validation": Pool.score(accepted) }),
    ...(best === undefined ? {} : { "prompts/best_validation": Pool.score(best) }),
    "prompts/candidates": pool.length,
    "prompts/leading": Pool.leads(pool).filter((count) => count > 0).length,
    "prompts/refused_answers": refusals.length,
    "prompts/rollouts": rollouts
  }
}

const counted = (refusals: ReadonlyArray<Reflection.Refusal>) => {
  const count = (one: Reflection.Refusal, words: string) => {
    const { length } = refusals.filter((refusal) => refusal === one)
    return length === 0 ? [] : [`${length} ${words}`]
  }
  return [
    ...count("missing", "had none"),
    ...count("long", "had one that is too long"),
    ...count("known", "had one that was tried before")
  ].join(", ")
}

const warning = (iteration: number, refusals: ReadonlyArray<Reflection.Refusal>): Program.Note => ({
  entry: {
    _tag: "Warning",
    message: `iteration ${iteration + 1}: the reflector wrote no new instruction in ${refusals.length} answers: ${
      counted(refusals)
    }`
  }
})

/** A run in progress. */
interface Running<E, R, RE, RR> {
  readonly options: Pick<
    PromptsOptions.PromptsOptions<E, R, RE, RR>,
    "dataset" | "model" | "reflector" | "validation"
  >
  readonly resolved: PromptsOptions.Resolved
  readonly policy: Policy.Policy<TinkerError>
  /** Optimizer steps of the policy's weights. */
  readonly step: number
  readonly recorded: ReadonlyArray<RecordedProposal>
  readonly cursor: Ref.Ref<Cursor>
}

type Failure = RolloutError | TinkerError | InvalidOption

type Steps<E, R> = Stream.Stream<Element, E, R>

/** Rolls out groups that were made with the instruction. Records identify the groups by the instruction's digest. */
const roll = <E, R, RE, RR>(
  { policy, resolved: { rollout, seed }, step }: Running<E, R, RE, RR>,
  groups: Groups<E, R>,
  instruction: string,
  iteration: number,
  place: { readonly evaluator?: string; readonly iteration?: number } = {}
): Stream.Stream<GroupResult.GroupResult, E | Failure, R> =>
  Stream.unwrap(Effect.map(GroupLog, ({ recall, write }) => {
    const at = { instructionDigest: digestOf(instruction), ...place }
    const log: GroupLog = {
      recall: (origin) => recall({ ...origin, ...at }),
      write: (origin, group, milliseconds) => write({ ...origin, ...at }, group, milliseconds)
    }
    return Rollout.stream(groups, policy, {
      ...rollout,
      onFailure: FailurePolicy.failFast,
      iteration,
      seed,
      samplerStep: step
    }).pipe(Stream.provideService(GroupLog, log))
  }))

/** The groups of a minibatch. Their keys name the instruction's role, because an iteration samples them with two instructions. */
const minibatch = <E, R, RE, RR>(
  { options: { dataset }, resolved: { seed } }: Running<E, R, RE, RR>,
  role: "parent" | "child",
  instruction: string,
  iteration: number
) =>
  Effect.map(
    dataset(instruction).batch(iteration, seed),
    (groups) => groups.map((group) => ({ ...group, key: `${role}/${group.key}` }))
  )

const sampling = <E, R, RE, RR>(
  { step }: Running<E, R, RE, RR>,
  iteration: number,
  groups: number,
  proposal?: Proposal
): Stream.Stream<Element> =>
  Stream.make(Program.progress({
    entry: { _tag: "Sampling", iteration, step, groups, ...(proposal === undefined ? {} : { proposal }) }
  }))

/**
 * Evaluates an instruction on the validation problems, with the same random draws for all instructions, and counts the episodes. The groups
 * are recorded as those of an evaluation before iteration `place`.
 */
const evaluate = <E, R, RE, RR, E2, R2>(
  running: Running<E, R, RE, RR>,
  instruction: string,
  place: number,
  next: (scores: ReadonlyArray<number>) => Steps<E2, R2>
): Steps<E | E2 | Failure, R | R2> =>
  Stream.suspend(() => {
    const groups = running.options.validation(instruction)
    const at = { evaluator: PromptsOptions.validation, iteration: place }
    return collecting(
      roll(running, groups, instruction, 0, at),
      (results) => Stream.unwrap(Effect.as(sampled(running, groups), next(scoresOf(results))))
    )
  })

/** Counts the episodes of groups. */
const sampled = <E, R, RE, RR>({ cursor }: Running<E, R, RE, RR>, groups: Groups<unknown, unknown>) =>
  Ref.update(cursor, (cursor) => ({ ...cursor, rollouts: cursor.rollouts + sizeOf(groups) }))

/** The reflector's answers to a minibatch: from the records if a run was interrupted after it wrote them, otherwise new ones. */
const propose = Effect.fnUntraced(function*<E, R, RE, RR>(
  { cursor, options: { model, reflector }, recorded, resolved }: Running<E, R, RE, RR>,
  instruction: string,
  results: Results
): Effect.fn.Return<Proposal, RE, RR> {
  const { iteration, pool } = yield* Ref.get(cursor)
  const parentDigest = digestOf(instruction)
  const before = recorded.findLast((one) => one.iteration === iteration && one.proposal.parentDigest === parentDigest)
  if (before !== undefined) {
    yield* Usage.count(before.proposal.usage)
    return before.proposal
  }
  const episodes = yield* Effect.forEach(results, (group) => Reflection.episode(group, instruction, model))
  const written = Reflection.write(reflector, {
    instruction,
    episodes: episodes.flatMap((episode) => episode ?? []),
    known: new Set(pool.map((candidate) => candidate.instruction)),
    answers: resolved.reflectorAnswers,
    key: `${iteration}/reflection`
  })
  const [answers, usage] = yield* Usage.measure(written)
  yield* Usage.count(usage)
  return { parentDigest, ...answers, usage }
})

/** Ends the iteration. An accepted child joins the pool. */
const end = <E, R, RE, RR>({ cursor }: Running<E, R, RE, RR>, tried: Tried, notes: ReadonlyArray<Program.Note> = []) =>
  Stream.fromEffect(Effect.map(
    Ref.updateAndGet(cursor, ({ iteration, pool, rollouts }) => ({
      iteration: iteration + 1,
      rollouts,
      pool: tried.accepted === undefined ? pool : [...pool, tried.accepted]
    })),
    (cursor): Element => ({
      _tag: "Iteration",
      updates: [],
      report: () => ({ cursor, metrics: metricsOf(tried, cursor), reward: rewardOf(tried.minibatches.flat()), notes })
    })
  ))

/** Differences of mean rewards below this are rounding errors: equal rewards in another order differ by as much. */
const nothing = 1e-12

/** Tries a child on the minibatch of its parent. If it is better, it is validated and accepted. */
const tryChild = Effect.fnUntraced(function*<E, R, RE, RR>(
  running: Running<E, R, RE, RR>,
  iteration: number,
  instruction: string,
  proposal: Proposal,
  { parent, parents }: { readonly parent: number; readonly parents: Results }
) {
  const groups = yield* minibatch(running, "child", instruction, iteration)
  const children = collecting(roll(running, groups, instruction, iteration), (results) => {
    const tried = { parent, minibatches: [parents, results], refusals: proposal.refusals }
    return Stream.unwrap(Effect.as(
      sampled(running, groups),
      rewardOf(results).mean - rewardOf(parents).mean > nothing
        ? evaluate(
          running,
          instruction,
          iteration + 1,
          (scores) => end(running, { ...tried, accepted: { instruction, parent, scores } })
        )
        : end(running, tried)
    ))
  })
  return Stream.concat(sampling(running, iteration, parents.length + groups.length, proposal), children)
})

/** Draws a parent, samples a minibatch with its instruction, and tries the instruction that the reflector writes from it. */
const evolve = Effect.fnUntraced(function*<E, R, RE, RR>(running: Running<E, R, RE, RR>) {
  const { iteration, pool } = yield* Ref.get(running.cursor)
  const parent = Pool.draw(pool, Seed.uniform(Seed.derive(running.resolved.seed, "parent", iteration))())
  const instruction = pool[parent]?.instruction ?? running.resolved.instruction
  const groups = yield* minibatch(running, "parent", instruction, iteration)
  const parents = collecting(
    roll(running, groups, instruction, iteration),
    (results) =>
      Stream.unwrap(Effect.gen(function*() {
        yield* sampled(running, groups)
        const proposal = yield* propose(running, instruction, results)
        const { instruction: child, refusals } = proposal
        if (child !== undefined) {
          return yield* tryChild(running, iteration, child, proposal, { parent, parents: results })
        }
        const refused = end(running, { parent, minibatches: [results], refusals }, [warning(iteration, refusals)])
        return Stream.concat(sampling(running, iteration, groups.length, proposal), refused)
      }))
  )
  return Stream.concat(sampling(running, iteration, groups.length), parents)
})

/** Whether the episodes of the next iteration fit into the budget. Fails if those of the first iteration do not. */
const fits = Effect.fnUntraced(function*<E, R, RE, RR>(running: Running<E, R, RE, RR>) {
  const { cursor, options: { validation }, resolved: { instruction, maxRollouts } } = running
  const { iteration, pool, rollouts } = yield* Ref.get(cursor)
  const episodes = sizeOf(yield* minibatch(running, "parent", instruction, iteration))
  const validated = sizeOf(validation(instruction))
  const most = 2 * episodes + (pool.length === 0 ? 2 : 1) * validated
  if (rollouts + most <= maxRollouts) return true
  if (iteration > 0) return false
  const expected =
    `at least ${most}: the first iteration samples 2 minibatches of ${episodes} episodes and may validate 2 `
    + `instructions on ${validated} episodes`
  return yield* new InvalidOption({ field: "maxRollouts", found: String(maxRollouts), expected })
})

/** An iteration; the first one begins with the validation of the initial instruction. */
const iterate = <E, R, RE, RR>(running: Running<E, R, RE, RR>) =>
  Stream.unwrap(Effect.gen(function*() {
    const { cursor, resolved: { instruction } } = running
    const { pool } = yield* Ref.get(cursor)
    if (pool.length > 0) return yield* evolve(running)
    return evaluate(running, instruction, 0, (scores) =>
      Stream.unwrap(Effect.andThen(
        Ref.update(cursor, (cursor) => ({ ...cursor, pool: [{ instruction, parent: null, scores }] })),
        evolve(running)
      )))
  }))

/** The program. Its iterations have no updates: they only change the pool. */
const program = <E, R, RE, RR>(
  options: Running<E, R, RE, RR>["options"],
  resolved: PromptsOptions.Resolved
): Program.Program<Cursor, E | RE | Failure | RunError, R | RR | RunStore> => {
  const { code, length, shortBatch } = options.dataset(resolved.instruction)
  return {
    name: "prompts",
    identity: resolved.identity,
    cursor: Cursor,
    start: { iteration: 0, rollouts: 0, pool: [] },
    length,
    shortBatch,
    code,
    ahead: 0,
    iterations: (from, weights, until) =>
      Stream.unwrap(Effect.gen(function*() {
        const { client, step } = yield* weights.sampler
        const running: Running<E, R, RE, RR> = {
          options,
          resolved,
          policy: Policy.fromSamplingClient(client, SamplingSettings.options(resolved.sampling, resolved.seed)),
          step,
          recorded: yield* recordedProposals,
          cursor: yield* Ref.make(from)
        }
        // Chunks of one iteration: whether an iteration fits the budget is checked only after the previous iteration.
        return Stream.range(from.iteration, until - 1, 1).pipe(
          Stream.takeWhileEffect(() => fits(running)),
          Stream.flatMap(() => iterate(running))
        )
      }))
  }
}

/** Evaluators of the best instruction so far. */
const ofBest = <EE, ER>(
  initial: string,
  evaluators: (instruction: string) => ReadonlyArray<Evaluator<EE, ER>>
): ReadonlyArray<Evaluator<EE, ER>> =>
  evaluators(initial).map((evaluator, index) => ({
    ...evaluator,
    evaluate: (weights) =>
      Effect.flatMap(Program.State, (state) => {
        const { instruction } = bestOf(state) ?? { instruction: initial }
        return (evaluators(instruction)[index] ?? evaluator).evaluate(weights)
      })
  }))

/** The best candidate of a state; undefined if the state has none. */
const bestOf = (state: Json) =>
  Option.getOrUndefined(
    Option.flatMapNullishOr(Schema.decodeUnknownOption(Cursor)(state), ({ pool }) => Pool.best(pool))
  )

/** The candidate with the highest mean score on the validation problems, by a run's newest checkpoint; undefined if there is none. */
export const best = (records: ReadonlyArray<RunRecord.RunRecord>): Pool.Candidate | undefined => {
  const saved = RunRecord.current(records).findLast(RunRecord.guards.Saved)
  return saved === undefined ? undefined : bestOf(saved.cursor)
}

/** Fails with the first invalid option; `run` makes the same check before its first request. */
export const validate = <E, R, RE, RR, EE, ER>(
  options: PromptsOptions.PromptsOptions<E, R, RE, RR, EE, ER>
): Effect.Effect<void, InvalidOption> => Effect.asVoid(PromptsOptions.resolve(options))

/**
 * Optimises the instruction of a task. Each iteration draws a parent from the candidates that do best on some validation problem, samples a
 * minibatch with it, and lets the reflector write a child from the episodes. A child that is better than its parent on the minibatch is
 * evaluated on all validation problems and becomes a candidate. The stream emits every record of the run; see `Run.stream` for resuming,
 * saving and stopping early. `best` reads the result from the records.
 *
 * @example
 * Prompts.run({
 *   model,
 *   instruction: "Answer with a number.",
 *   dataset: (instruction) =>
 *     RLDataset.problems(rows, {
 *       model,
 *       prefix: [Message.system(instruction)],
 *       groupsPerBatch: 2,
 *       groupSize: 1,
 *       problem: ([a, b]) => ({ question: `${a} + ${b}?`, answer: String(a + b) })
 *     }),
 *   validation: () => [builder],
 *   reflector: judge
 * })
 */
export const run = <E, R, RE, RR, EE = never, ER = never>(
  options: PromptsOptions.PromptsOptions<E, R, RE, RR, EE, ER>
): Stream.Stream<RunRecord.RunRecord, E | RE | EE | Error, R | RR | ER | Tinker | RunStore> =>
  Stream.unwrap(Effect.map(PromptsOptions.resolve(options), (resolved) => {
    const { evaluators = () => [], run = {}, ...others } = options
    return Run.stream(program(options, resolved), {
      ...others,
      run: { ...run, evaluators: ofBest(resolved.instruction, evaluators) }
    })
  }))
