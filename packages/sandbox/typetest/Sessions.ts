/** An AI SDK session fits the type that `Sandbox.layerSession` accepts. */
import type { AiSdkSession } from "@effect-rl/sandbox"
import type { Experimental_SandboxProcess, Experimental_SandboxSession } from "ai"

declare const session: Experimental_SandboxSession
declare const process: Experimental_SandboxProcess

export const taken: AiSdkSession.Session = session
export const running: AiSdkSession.SessionProcess = process

export const opened: AiSdkSession.Opened = { session, folder: "/home/user", close: () => Promise.resolve() }
