import { Command, Option } from 'commander'
import { exitCodeHelp, exitCodes } from '../exit-codes.ts'
import { parseStored } from '../arguments/journal-address.ts'

interface DoctorFlags {
  readonly json?: boolean
  readonly journal?: string
  readonly store?: string
}

/** `heddle doctor [options]` */
export function doctorCommand(): Command {
  return new Command('doctor')
    .description('Check whether this machine has what runs need, and say what they will look like.')
    .addOption(
      new Option(
        '-j, --journal <where>',
        'also look into this journal: sqlite:FILE or postgres://HOST/DATABASE',
      ).argParser(parseStored),
    )
    .addOption(
      new Option(
        '--store <where>',
        'also check this store, as `heddle serve --store` would use it: sqlite:FILE or postgres://HOST/DATABASE',
      ).argParser(parseStored),
    )
    .option('--json', 'one JSON object: { ok, checks: [{ name, ok, found, help }] }')
    .addHelpText(
      'after',
      [
        '\nExamples:',
        '  $ heddle doctor --journal sqlite:.heddle/runs.db',
        '  $ heddle doctor --store postgres://heddle@db.example/heddle',
        exitCodeHelp({ 0: 'everything is there', 1: 'something is missing', 2: '' }),
      ].join('\n'),
    )
    .action(async (flags: DoctorFlags) => {
      const { examine } = await import('../doctor/examine.ts')
      const { journal, store } = flags
      const places = new Set([journal, store].filter((place) => place !== undefined))
      const ok = await examine({ json: flags.json ?? false, places: [...places] })
      process.exitCode = ok ? exitCodes.ok : exitCodes.failed
    })
}
