/** What the command line and the file of settings say together. Flags win. */
import type { FailOn, Level, LoadedConfig, RuleSetting } from '@heddle/analyze'
import path from 'node:path'
import { isForPeople, type Format } from './choices.ts'

/** The flags as they were typed. */
export interface AnalyzeFlags {
  readonly targets: readonly string[]
  readonly format: Format | undefined
  readonly inventory: boolean
  readonly level: Level | undefined
  readonly baseline: string | undefined
  readonly writeBaseline: boolean
  readonly failOn: FailOn | undefined
  readonly changedSince: string | undefined
  readonly types: boolean
  readonly explain: string | true | undefined
  readonly watch: boolean
  /** Answer an editor instead of a person. */
  readonly lsp: boolean
  readonly config: string | undefined
  readonly output: string | undefined
  readonly color: boolean
}

export interface Settings {
  readonly format: Format
  /** Findings below it are not shown. */
  readonly level: Level
  /** Findings below it do not make the exit code 1. */
  readonly failLevel: Level
  readonly failOn: FailOn
  readonly rules: Readonly<Record<string, RuleSetting>>
  readonly types: 'auto' | 'none'
  /** The targets when none is named. Absolute, or a glob from an absolute path. */
  readonly include: readonly string[]
  readonly exclude: readonly string[]
  /** What those globs start from. Absolute. */
  readonly excludeFrom: string
  /** Absolute. */
  readonly models: readonly string[]
  /** Names of functions that run their callback alone. */
  readonly guards: readonly string[]
  /** Absolute; whether it was asked for, or is only looked for. */
  readonly baseline: { readonly file: string; readonly isNamed: boolean }
}

const usualLevel: Level = 'warning'

export function settle(
  flags: AnalyzeFlags,
  { config, folder }: LoadedConfig,
  names: { readonly cwd: string; readonly baseline: string },
): Settings {
  const format = flags.format ?? 'text'
  const chosen = flags.level ?? config.level
  const baseline =
    flags.baseline === undefined
      ? path.resolve(folder, config.baseline ?? names.baseline)
      : path.resolve(names.cwd, flags.baseline)
  return {
    format,
    // Without a wish, programs get the notes as well: they can leave them out themselves.
    level: chosen ?? (isForPeople(format) ? usualLevel : 'note'),
    failLevel: chosen ?? usualLevel,
    failOn: flags.failOn ?? config.failOn ?? 'new',
    rules: config.rules ?? {},
    types: flags.types ? (config.types ?? 'auto') : 'none',
    include: (config.include ?? ['.']).map((each) => path.resolve(folder, each)),
    exclude: config.exclude ?? [],
    excludeFrom: folder,
    guards: config.guards ?? [],
    models: (config.models ?? []).map((file) => path.resolve(folder, file)),
    baseline: { file: baseline, isNamed: (flags.baseline ?? config.baseline) !== undefined },
  }
}
