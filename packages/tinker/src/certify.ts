/** Tests of any Tinker server by the effects of its answers, and the certificate that they give. Advanced. */

/** A certificate in one line, as an SVG for a README. */
export * as Badge from "./certify/Badge.ts"
/** The checks of a server, with their outcomes. */
export * as Certificate from "./certify/Certificate.ts"
/** Tests any Tinker server. */
export * as Certification from "./certify/Certification.ts"
