/** Addresses of checkpoints that a backend keeps in local folders: `<scheme>://<model id>/<kind>/<name>`. */

const schemes = { engine: "engine://", torch: "torch://" } as const

/** Backends that keep checkpoints in local folders. */
export type Backend = keyof typeof schemes

/** Whether the backend keeps its checkpoints in local folders. */
export const hasFolders = (backend: string): backend is Backend => Object.hasOwn(schemes, backend)

/** The prefix of the backend's checkpoint addresses. */
export const scheme = (backend: Backend): string => schemes[backend]

/** Whether the address belongs to a backend that keeps checkpoints in local folders. */
export const isLocal = (address: string): boolean => Object.values(schemes).some((scheme) => address.startsWith(scheme))
