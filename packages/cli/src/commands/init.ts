import { Command } from 'commander'
import { exitCodeHelp, exitCodes } from '../exit-codes.ts'

interface InitFlags {
  readonly service?: boolean
}

/** `heddle init [folder] [options]` */
export function initCommand(): Command {
  return new Command('init')
    .description(
      'Write a first project into a folder: typed jobs, a graph, a test with a virtual clock, npm scripts.\nFiles that are there already stay as they are.',
    )
    .argument('[folder]', 'where to write it; it is made when it is not there', '.')
    .option('--service', 'also a Dockerfile and scripts that serve the jobs over HTTP')
    .addHelpText(
      'after',
      [
        '\nExamples:',
        '  $ heddle init my-work',
        '  $ heddle init --service',
        exitCodeHelp({ 0: 'the project is there', 2: 'the folder cannot be written to' }),
      ].join('\n'),
    )
    .action(async (folder: string, flags: InitFlags) => {
      const { init } = await import('../init/init.ts')
      const isDone = await init(folder, { isService: flags.service ?? false })
      process.exitCode = isDone ? exitCodes.ok : exitCodes.usage
    })
}
