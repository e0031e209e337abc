/** Tests any Tinker server through the effects of its answers, and certifies the result. Advanced. */

/** A one-line summary of a certificate, as an SVG badge for a README. */
export * as Badge from "./certify/Badge.ts"
/** The checks of a server and their outcomes. */
export * as Certificate from "./certify/Certificate.ts"
/** Tests any Tinker server. */
export * as Certification from "./certify/Certification.ts"
