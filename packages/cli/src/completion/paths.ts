/** What can follow each command, from the table of commands and the options that each of them declares. */
import type { Command, Option } from 'commander'
import { commands } from '../command-table.ts'

export interface CompletedOption {
  /** `--json` */
  readonly long: string
  /** `j`, where there is a short one. */
  readonly short: string | undefined
  readonly takesValue: boolean
  /** The only values that it takes; empty when it takes any. */
  readonly choices: readonly string[]
  readonly description: string
}

export interface CompletedWord {
  readonly name: string
  readonly description: string
}

export interface CompletedPath {
  /** `runs list`; empty for `heddle` itself. */
  readonly path: string
  readonly subcommands: readonly CompletedWord[]
  /** The only values of its argument; empty when it takes any, or none. */
  readonly values: readonly string[]
  readonly options: readonly CompletedOption[]
}

const help: CompletedOption = {
  long: '--help',
  short: 'h',
  takesValue: false,
  choices: [],
  description: 'print this help',
}

const version: CompletedOption = {
  ...help,
  long: '--version',
  short: 'V',
  description: 'print the version',
}

/** Loads every command. The root comes first, each command before its subcommands. */
export async function collectPaths(): Promise<readonly CompletedPath[]> {
  const paths: CompletedPath[] = []
  for (const { load } of Object.values(commands)) addPaths(await load({ rest: [] }), '', paths)
  const subcommands = Object.entries(commands).map(([name, { summary }]) => ({
    name,
    description: summary,
  }))
  return [{ path: '', subcommands, values: [], options: [help, version] }, ...paths]
}

function addPaths(command: Command, parent: string, paths: CompletedPath[]): void {
  const path = `${parent} ${command.name()}`.trim()
  const options = command.options.filter(({ hidden }) => !hidden).map(describeOption)
  paths.push({
    path,
    subcommands: command.commands.map((child) => ({
      name: child.name(),
      description: firstLine(child.summary() || child.description()),
    })),
    values: command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []),
    options: [...options.filter((option) => option !== undefined), help],
  })
  for (const child of command.commands) addPaths(child, path, paths)
}

function describeOption(option: Option): CompletedOption | undefined {
  if (option.long === undefined || option.long === null) return undefined
  return {
    long: option.long,
    short: option.short?.slice(1),
    takesValue: option.required || option.optional,
    choices: option.argChoices ?? [],
    description: firstLine(option.description),
  }
}

function firstLine(text: string): string {
  return text.split('\n')[0] ?? ''
}
