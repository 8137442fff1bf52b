/**
 * Requirements of Python packages, as in `[project].dependencies`:
 *
 *   genkit [google, aws] >=0.4, <1 ; python_version < "3.13"
 *   ──name──── extras ───── range ── ────── marker ────────
 *   genkit @ file:///src/genkit ; python_version < "3.13"
 *
 * Only the range is ever changed: dropping extras and markers installs something else (D).
 */

export interface Requirement {
  readonly name: string
  /** With brackets, as written, or empty. */
  readonly extras: string
  /** `>=0.4, <1`, `@ file:///src/genkit`, or empty. */
  readonly range: string
  /** From the semicolon on, with the space before it, or empty. */
  readonly marker: string
}

const shape =
  /^\s*(?<name>[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?)\s*(?<extras>\[[^\]]*\])?\s*(?<rest>.*?)\s*$/s

/** Undefined for a text that is not a requirement. */
export function parseRequirement(text: string): Requirement | undefined {
  const { name, extras = '', rest } = shape.exec(text)?.groups ?? {}
  if (name === undefined || rest === undefined) return undefined
  // An address may have a semicolon; its marker stands after a space.
  const separator = rest.startsWith('@') ? /\s+;/ : /\s*;/
  const at = separator.exec(rest)?.index ?? rest.length
  const range = rest.slice(0, at)
  const isRange = /^(?:@|\(|[<>=!~]=?|===)|^$/.test(range)
  return isRange ? { name, extras, range, marker: rest.slice(at) } : undefined
}

/** Names are equal for Python if they differ in case, dots, dashes and underscores only. */
export function normalName(name: string): string {
  return name.replace(/[-_.]+/g, '-').toLowerCase()
}

/** Exactly this version. Name, extras and marker as they were written. */
export function pinRequirement(requirement: Requirement, version: string): string {
  const { name, extras, marker } = requirement
  return `${name}${extras}==${version}${marker}`
}

/** Whether it leads to a file or a folder of this machine. */
export function isLocalRequirement({ range }: Requirement): boolean {
  return /^@\s*(?:file:|git\+file:|[./~]|[a-z]:[\\/])/i.test(range)
}

const preReleases: Readonly<Record<string, string>> = {
  a: 'a',
  alpha: 'a',
  b: 'b',
  beta: 'b',
  c: 'rc',
  pre: 'rc',
  preview: 'rc',
  rc: 'rc',
}

/** How Python writes a version: `1.0.0-rc.1` is `1.0.0rc1`. Others stay as they are. */
export function pythonVersion(version: string): string {
  const { release, word, count } =
    /^v?(?<release>\d+(?:\.\d+)*)[-._]?(?<word>[a-z]+)[-._]?(?<count>\d*)$/i.exec(version)
      ?.groups ?? {}
  const short = preReleases[word?.toLowerCase() ?? '']
  if (short !== undefined) return `${release}${short}${Number(count)}`
  if (word === 'dev' || word === 'post') return `${release}.${word}${Number(count)}`
  return version
}
