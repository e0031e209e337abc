/** All checks, in the order of a certificate. */
import * as Order from "effect/Order"
import { type Check, Theme } from "./Check.ts"
import * as ArchiveChecks from "./checks/ArchiveChecks.ts"
import * as ErrorChecks from "./checks/ErrorChecks.ts"
import * as FutureChecks from "./checks/FutureChecks.ts"
import * as GradientChecks from "./checks/GradientChecks.ts"
import * as LimitChecks from "./checks/LimitChecks.ts"
import * as OrderChecks from "./checks/OrderChecks.ts"
import * as PortChecks from "./checks/PortChecks.ts"
import * as RepeatChecks from "./checks/RepeatChecks.ts"
import * as SeedChecks from "./checks/SeedChecks.ts"
import * as ServiceChecks from "./checks/ServiceChecks.ts"
import * as SessionChecks from "./checks/SessionChecks.ts"

const byTheme = Order.mapInput(Order.Number, ({ theme }: Check) => Theme.literals.indexOf(theme))

export const all = (baseModel: string): ReadonlyArray<Check> =>
  [
    ...ServiceChecks.all,
    ...SessionChecks.all,
    ...SeedChecks.all,
    ...GradientChecks.all,
    ...PortChecks.all(baseModel),
    ...OrderChecks.all,
    ...RepeatChecks.all,
    ...FutureChecks.all,
    ...ErrorChecks.all,
    ...LimitChecks.all,
    ...ArchiveChecks.all
  ].toSorted(byTheme)
