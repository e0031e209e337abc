/** A session of the AI SDK is what `Sandbox.layerSession` takes. */
import type { Session } from "@effect-rl/sandbox"
import type { Experimental_SandboxProcess, Experimental_SandboxSession } from "ai"

declare const session: Experimental_SandboxSession
declare const process: Experimental_SandboxProcess

export const taken: Session.Session = session
export const running: Session.SessionProcess = process

export const opened: Session.Opened = { session, folder: "/home/user", close: () => Promise.resolve() }
