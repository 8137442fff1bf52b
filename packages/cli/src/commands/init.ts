import { Command, Option } from 'commander'
import { exitCodeHelp, exitCodes } from '../exit-codes.ts'

interface InitFlags {
  readonly service?: boolean
  readonly skill?: boolean
  readonly json?: boolean
}

/** `heddle init [folder] [options]` */
export function initCommand(): Command {
  return new Command('init')
    .description(
      'Write a first project into a folder: typed jobs, a graph, a test with a virtual clock, npm scripts.\nFiles that are there already stay as they are.',
    )
    .argument('[folder]', 'where to write it; it is made when it is not there', '.')
    .option('--service', 'also a Dockerfile and scripts that serve the jobs over HTTP')
    .addOption(
      new Option(
        '--skill',
        'instead: a SKILL.md that tells coding agents when and how to run heddle analyze',
      ).conflicts('service'),
    )
    .option('--json', 'one JSON object: { ok, folder, written, kept }')
    .addHelpText(
      'after',
      [
        '\nExamples:',
        '  $ heddle init my-work',
        '  $ heddle init --service',
        '  $ heddle init --skill',
        exitCodeHelp({ 0: 'the project is there', 2: 'the folder cannot be written to' }),
      ].join('\n'),
    )
    .action(async (folder: string, flags: InitFlags) => {
      if (flags.skill === true) {
        const { initSkill } = await import('../init/skill.ts')
        process.exitCode = (await initSkill(folder, flags.json ?? false))
          ? exitCodes.ok
          : exitCodes.usage
        return
      }
      const { init } = await import('../init/init.ts')
      const isDone = await init(folder, {
        isService: flags.service ?? false,
        json: flags.json ?? false,
      })
      process.exitCode = isDone ? exitCodes.ok : exitCodes.usage
    })
}
