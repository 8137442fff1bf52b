/** Options shared by the commands that talk to a server. */
import { Option, type Command } from 'commander'
import { exitCodeHelp } from '../exit-codes.ts'
import type { ServerSettings } from '../schedules/call-server.ts'
import { defaults } from '../serve/serve-settings.ts'
import { parseServer } from './work.ts'

export interface ServerFlags {
  readonly server: string
  readonly token?: string
  readonly json?: boolean
}

const url = `http://${defaults.host}:${defaults.port}`

export function withServerOptions(command: Command, json: string): Command {
  return command
    .addOption(
      new Option('--server <url>', 'the address of the server').argParser(parseServer).default(url),
    )
    .addOption(
      new Option(
        '--token <token>',
        'a token with the scope "read", or "operate" for changes, of `heddle tokens add`',
      ).env('HEDDLE_TOKEN'),
    )
    .option('--json', json)
}

export function settingsOf({ server, token, json = false }: ServerFlags): ServerSettings {
  return { server, token, json }
}

export function helpWith(...examples: readonly string[]): string {
  const codes = exitCodeHelp({ 0: 'it was done', 2: 'it was refused, or the server is away' })
  return ['\nExamples:', ...examples.map((each) => `  $ ${each}`), codes].join('\n')
}
