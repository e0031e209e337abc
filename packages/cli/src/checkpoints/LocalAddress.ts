/** Addresses of checkpoints that a backend keeps in folders of this machine: `<scheme>://<model id>/<kind>/<name>`. */

const schemes = { engine: "engine://", torch: "torch://" } as const

/** Backends that keep checkpoints in folders. */
export type Backend = keyof typeof schemes

/** Whether the backend keeps its checkpoints in folders. */
export const hasFolders = (backend: string): backend is Backend => Object.hasOwn(schemes, backend)

/** The beginning of the backend's addresses. */
export const scheme = (backend: Backend): string => schemes[backend]

/** Whether such a backend has saved the checkpoint at the address. */
export const isLocal = (address: string): boolean => Object.values(schemes).some((scheme) => address.startsWith(scheme))
