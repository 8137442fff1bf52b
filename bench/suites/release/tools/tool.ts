/** A program that publishes a workspace, and a reader of its output. */

export interface Command {
  readonly file: string
  readonly args: readonly string[]
}

/** The output of a program until it ended. */
export interface Output {
  readonly stdout: string
  readonly stderr: string
}

/** The outcome of each package, as the tool reports it, by full name. */
export interface Reported {
  /** Published by this run. */
  readonly published: readonly string[]
  /** Were there before. */
  readonly already: readonly string[]
  readonly failed: readonly string[]
  /** Packages that were not tried, or not finished. */
  readonly notDone: readonly string[]
  /** The line that names the failure; empty without one. */
  readonly message: string
}

export interface Tool {
  /** The command as a user would type it; for a peer, with its version. */
  readonly title: string
  readonly command: Command
  /** The command for a version other than the first, where it has to name one. */
  commandFor?(version: string): Command
  /** Files of the workspace that only this tool wants, by path. */
  readonly files: Readonly<Record<string, string>>
  /** Whether packages must be linked to each other first, with pnpm. */
  readonly isLinked: boolean
  /** Packages of the peers that the tool looks for in the repository. */
  readonly modules?: readonly string[]
  /** The Git tag of a package, where it is not `name@version`. */
  tagOf?(name: string, version: string): string
  read(output: Output): Reported
}

/** The versions are the same everywhere: the name is the part before the last `@`. */
export function nameIn(nameAndVersion: string): string {
  return nameAndVersion.slice(0, nameAndVersion.lastIndexOf('@'))
}

/** The first group of each match. */
export function allIn(text: string, pattern: RegExp): string[] {
  return [...new Set(Array.from(text.matchAll(pattern), (match) => match[1]!))]
}
