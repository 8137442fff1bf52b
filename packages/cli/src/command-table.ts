/** The table of commands: the help text of each, and how it is loaded when it is called. */
import type { Command } from 'commander'

/** The context of every command. */
export interface CommandContext {
  /** What was written after `--`. */
  readonly rest: readonly string[]
}

export interface CommandEntry {
  readonly summary: string
  readonly load: (context: CommandContext) => Promise<Command>
}

/** Keyed by name, in the order in which the help lists them. */
export const commands: Readonly<Record<string, CommandEntry>> = {
  run: {
    summary: 'run the graph that a module exports',
    load: async (context) => (await import('./commands/run.ts')).runCommand(context),
  },
  runs: {
    summary:
      'inspect recorded runs (list, show, timeline, compare, export), retry them, send signals',
    load: async (context) => (await import('./commands/runs.ts')).runsCommand(context),
  },
  serve: {
    summary: 'serve the jobs that a module exports over HTTP',
    load: async () => (await import('./commands/serve.ts')).serveCommand(),
  },
  work: {
    summary: 'run jobs of a server on this machine',
    load: async () => (await import('./commands/work.ts')).workCommand(),
  },
  ui: {
    summary: 'show the runs of a journal in a browser',
    load: async () => (await import('./commands/ui.ts')).uiCommand(),
  },
  users: {
    summary: 'users of a server: list, add, block',
    load: async () => (await import('./commands/users.ts')).usersCommand(),
  },
  computations: {
    summary: 'the computations of a server: list, retry set-aside ones, cancel',
    load: async () => (await import('./commands/computations.ts')).computationsCommand(),
  },
  schedules: {
    summary: 'graphs that a server runs by the clock: list, add, pause',
    load: async () => (await import('./commands/schedules.ts')).schedulesCommand(),
  },
  tokens: {
    summary: 'tokens of a server: list, add, revoke',
    load: async () => (await import('./commands/tokens.ts')).tokensCommand(),
  },
  analyze: {
    summary: 'find the races and the loop blocking of TypeScript code',
    load: async () => (await import('./commands/analyze.ts')).analyzeCommand(),
  },
  release: {
    summary: 'publish the packages of a monorepo: plan, publish, status, rollback',
    load: async () => (await import('./commands/release.ts')).releaseCommand(),
  },
  init: {
    summary: 'write a first project into a folder',
    load: async () => (await import('./commands/init.ts')).initCommand(),
  },
  completion: {
    summary: 'print the completion script of a shell',
    load: async () => (await import('./commands/completion.ts')).completionCommand(),
  },
  doctor: {
    summary: 'check whether this machine has what runs need',
    load: async () => (await import('./commands/doctor.ts')).doctorCommand(),
  },
}
