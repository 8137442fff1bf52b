import { Command, Option } from 'commander'
import { parseWhole } from '../arguments/whole-number.ts'
import { exitCodeHelp } from '../exit-codes.ts'
import { parseStored } from '../arguments/journal-address.ts'
import { defaults } from '../serve/serve-settings.ts'

interface UiFlags {
  readonly host: string
  readonly port: number
  readonly json?: boolean
  readonly color: boolean
}

/** `heddle ui [journal] [options]` */
export function uiCommand(): Command {
  return new Command('ui')
    .description('Show the runs of a journal in a browser: live, and back in time.')
    .argument(
      '[journal]',
      'sqlite:FILE or postgres://HOST/DATABASE (default: sqlite:.heddle/runs.db)',
      parseStored,
    )
    .option('--host <address>', 'the address to listen on', defaults.host)
    .addOption(
      new Option('-p, --port <n>', 'the port to listen on; 0 takes a free one')
        .argParser(parseWhole(0, 65_535))
        .default(defaults.port),
    )
    .option('--json', 'one JSON object per event and line')
    .option('--no-color', 'plain lines without colours')
    .addHelpText(
      'after',
      [
        '\nExamples:',
        '  $ heddle ui',
        '  $ heddle ui sqlite:nightly.db --port 0',
        exitCodeHelp({
          0: 'it was ended by a signal',
          2: 'it could not start: the command, the journal or the port',
        }),
      ].join('\n'),
    )
    .action(async (journal: string | undefined, flags: UiFlags) => {
      const { executeUi } = await import('../ui/execute-ui.ts')
      await executeUi({
        journal,
        host: flags.host,
        port: flags.port,
        json: flags.json ?? false,
        color: flags.color,
      })
    })
}
