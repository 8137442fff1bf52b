/**
 * The command line. Commands are loaded when they are called: help and a wrong word cost no more than
 * this file.
 */
import { Command, CommanderError } from 'commander'
import { commands, type CommandContext } from './command-table.ts'
import { exitCodes } from './exit-codes.ts'
import { describeMissing, missingPackage } from './optional-package.ts'
import { guardOutputs } from './output/lost-output.ts'
import { readVersion } from './own-version.ts'

/** Only the command that is called is loaded; of the others the help needs one line. */
async function makeProgram(args: readonly string[], context: CommandContext): Promise<Command> {
  const program = new Command('heddle')
    .description('Run heavy work from one event loop without ever blocking it.')
    .version(await readVersion(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .addHelpText(
      'after',
      '\nExample:\n  $ heddle run graph.ts --concurrency 8\n\n`heddle <command> --help` says more.',
    )
  const words = args.filter((arg) => !arg.startsWith('-'))
  const wanted = words[0] === 'help' ? words[1] : words[0]
  for (const [name, { summary, load }] of Object.entries(commands)) {
    const command = name === wanted ? await load(context) : new Command(name)
    program.addCommand(command.summary(summary))
  }
  return configure(program, await redactionFor(args))
}

type Redact = (text: string) => string

/** Commander repeats the argument that it refuses, and an address may hold a password. Loaded only for those. */
async function redactionFor(args: readonly string[]): Promise<Redact> {
  if (!args.some((arg) => arg.includes('://'))) return (text) => text
  return (await import('@heddle/core/lowlevel')).withoutPasswords
}

/** The same manners for every command, wherever it was made. */
function configure(command: Command, redact: Redact): Command {
  command
    .exitOverride()
    .showSuggestionAfterError()
    .showHelpAfterError(`Try \`${pathOf(command)} --help\`.`)
    .configureHelp({
      showGlobalOptions: false,
      sortSubcommands: false,
      // Lines of the source are filled to the width of the terminal.
      commandDescription: (shown) => shown.description().replaceAll('\n', ' '),
    })
    .configureOutput({ outputError: (text, write) => write(redact(text)) })
  for (const child of command.commands) configure(child, redact)
  return command
}

function pathOf(command: Command): string {
  return command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`
}

/** Arguments after `--` belong to the module that is run. */
function split(
  args: readonly string[],
): readonly [own: readonly string[], rest: readonly string[]] {
  const at = args.indexOf('--')
  return at < 0 ? [args, []] : [args.slice(0, at), args.slice(at + 1)]
}

/** An error that its command has not reported itself. */
async function report(error: unknown): Promise<void> {
  const missing = missingPackage(error)
  if (missing !== undefined) {
    process.stderr.write(`heddle: ${await describeMissing(missing)}\n`)
    process.exitCode = exitCodes.usage
    return
  }
  const { remedyFor } = await import('./output/system-error.ts')
  const remedy = remedyFor(error)
  if (remedy === undefined) throw error
  process.stderr.write(`heddle: ${(error as Error).message}\n        ${remedy}\n`)
  process.exitCode = exitCodes.failed
}

/** A command may run for long; help and version end by themselves, and load nothing of core. */
async function endWithParent(): Promise<void> {
  const { followShellOfNpx, holdLifeline } = await import('./lifeline.ts')
  holdLifeline()
  followShellOfNpx()
}

async function main(args: readonly string[]): Promise<void> {
  const [own, rest] = split(args)
  if (own.some((word) => Object.hasOwn(commands, word))) await endWithParent()
  const program = await makeProgram(own, { rest })
  try {
    await program.parseAsync(own, { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) return report(error)
    process.exitCode = error.exitCode === 0 ? exitCodes.ok : exitCodes.usage
  }
}

guardOutputs()
// The journal keeps the command line of a run: what people typed, not where the launcher found us.
process.argv[1] = 'heddle'
await main(process.argv.slice(2))
