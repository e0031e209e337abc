/** All checks, in certificate order. */
import type { Contract } from "@effect-rl/core/testing"
import * as Order from "effect/Order"
import { type Check, Theme } from "./Check.ts"
import * as AdapterChecks from "./checks/AdapterChecks.ts"
import * as AdministrationChecks from "./checks/AdministrationChecks.ts"
import * as AgreementChecks from "./checks/AgreementChecks.ts"
import * as ArchiveChecks from "./checks/ArchiveChecks.ts"
import * as BatchChecks from "./checks/BatchChecks.ts"
import * as CacheChecks from "./checks/CacheChecks.ts"
import * as ChatChecks from "./checks/ChatChecks.ts"
import * as ChatFieldChecks from "./checks/ChatFieldChecks.ts"
import * as ContinuationChecks from "./checks/ContinuationChecks.ts"
import * as CustomLossChecks from "./checks/CustomLossChecks.ts"
import * as DefaultChecks from "./checks/DefaultChecks.ts"
import * as DialectChecks from "./checks/DialectChecks.ts"
import * as DistributionChecks from "./checks/DistributionChecks.ts"
import * as DownloadChecks from "./checks/DownloadChecks.ts"
import * as EndChecks from "./checks/EndChecks.ts"
import * as ErrorChecks from "./checks/ErrorChecks.ts"
import * as FutureChecks from "./checks/FutureChecks.ts"
import * as GradientChecks from "./checks/GradientChecks.ts"
import * as IdentityChecks from "./checks/IdentityChecks.ts"
import * as InputChecks from "./checks/InputChecks.ts"
import * as IsolationChecks from "./checks/IsolationChecks.ts"
import * as LifetimeChecks from "./checks/LifetimeChecks.ts"
import * as LimitChecks from "./checks/LimitChecks.ts"
import * as ListingChecks from "./checks/ListingChecks.ts"
import * as MistakeChecks from "./checks/MistakeChecks.ts"
import * as NeighbourChecks from "./checks/NeighbourChecks.ts"
import * as OptimizerChecks from "./checks/OptimizerChecks.ts"
import * as OptionChecks from "./checks/OptionChecks.ts"
import * as OrderChecks from "./checks/OrderChecks.ts"
import * as OutputChecks from "./checks/OutputChecks.ts"
import * as PageChecks from "./checks/PageChecks.ts"
import * as PassAgreementChecks from "./checks/PassAgreementChecks.ts"
import * as PortChecks from "./checks/PortChecks.ts"
import * as PromptChecks from "./checks/PromptChecks.ts"
import * as RangeChecks from "./checks/RangeChecks.ts"
import * as RefusalChecks from "./checks/RefusalChecks.ts"
import * as RepeatChecks from "./checks/RepeatChecks.ts"
import * as ResumeChecks from "./checks/ResumeChecks.ts"
import * as RetentionChecks from "./checks/RetentionChecks.ts"
import * as ScaleChecks from "./checks/ScaleChecks.ts"
import * as ScoreChecks from "./checks/ScoreChecks.ts"
import * as SearchChecks from "./checks/SearchChecks.ts"
import * as SeedChecks from "./checks/SeedChecks.ts"
import * as ServiceChecks from "./checks/ServiceChecks.ts"
import * as SessionChecks from "./checks/SessionChecks.ts"
import * as StepChecks from "./checks/StepChecks.ts"
import * as StopChecks from "./checks/StopChecks.ts"
import * as StreamTextChecks from "./checks/StreamTextChecks.ts"
import * as TemperatureChecks from "./checks/TemperatureChecks.ts"
import * as WeightChecks from "./checks/WeightChecks.ts"

const byTheme = Order.mapInput(Order.Number, ({ theme }: Check) => Theme.literals.indexOf(theme))

export const all = (model: Contract.Options): ReadonlyArray<Check> =>
  [
    ...ServiceChecks.all,
    ...SessionChecks.all,
    ...IdentityChecks.all,
    ...ListingChecks.all,
    ...SearchChecks.all,
    ...SeedChecks.all,
    ...RangeChecks.all,
    ...AdapterChecks.all,
    ...StopChecks.all,
    ...EndChecks.all(model),
    ...DistributionChecks.all,
    ...TemperatureChecks.all,
    ...AgreementChecks.all,
    ...DefaultChecks.all,
    ...PromptChecks.all(model),
    ...OptionChecks.all,
    ...ScoreChecks.all,
    ...OptimizerChecks.all,
    ...StepChecks.all,
    ...OutputChecks.all,
    ...ScaleChecks.all,
    ...InputChecks.all,
    ...CustomLossChecks.all,
    ...GradientChecks.all,
    ...BatchChecks.all,
    ...PassAgreementChecks.all,
    ...IsolationChecks.all,
    ...PortChecks.all(model),
    ...OrderChecks.all,
    ...RepeatChecks.all,
    ...FutureChecks.all,
    ...ErrorChecks.all,
    ...RefusalChecks.all,
    ...MistakeChecks.all,
    ...LimitChecks.all,
    ...RetentionChecks.all,
    ...LifetimeChecks.all,
    ...WeightChecks.all,
    ...ResumeChecks.all,
    ...CacheChecks.all,
    ...NeighbourChecks.all,
    ...ArchiveChecks.all,
    ...DownloadChecks.all,
    ...AdministrationChecks.all,
    ...PageChecks.all,
    ...ChatChecks.all,
    ...DialectChecks.all,
    ...ChatFieldChecks.all,
    ...StreamTextChecks.all,
    ...ContinuationChecks.all
  ].toSorted(byTheme)
