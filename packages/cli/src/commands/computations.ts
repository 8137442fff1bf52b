import { Command, Option } from 'commander'
import type { ComputationState } from '../computations/computation-actions.ts'
import { helpWith, settingsOf, withServerOptions, type ServerFlags } from './server-options.ts'

const states: readonly ComputationState[] = [
  'looking',
  'queued',
  'preparing',
  'making',
  'waiting',
  'set_aside',
]

interface ListFlags extends ServerFlags {
  readonly state?: ComputationState
}

/** `heddle computations [list | retry | cancel]` */
export function computationsCommand(): Command {
  const list = new Command('list')
    .summary('list queued, running and set-aside computations (the default)')
    .description(
      'List queued and running computations on all servers and why they wait. A computation is set aside when it was\n' +
        'running three times while its server died, or cannot be resumed: `retry` runs it again.',
    )
    .addOption(new Option('-s, --state <state>', 'only those in this state').choices(states))
  return new Command('computations')
    .description('What a server computes for the handles that it has given out.')
    .addCommand(
      withServerOptions(list, 'one JSON object: { ok, computations, total }')
        .addHelpText(
          'after',
          helpWith('heddle computations', 'heddle computations --state set_aside'),
        )
        .action(async (flags: ListFlags) => {
          const { listComputations } = await import('../computations/computation-actions.ts')
          await listComputations({ ...settingsOf(flags), state: flags.state })
        }),
      { isDefault: true },
    )
    .addCommand(
      oneCommand('retry', 'run a computation again that was set aside', async (settings) => {
        const { retryComputation } = await import('../computations/computation-actions.ts')
        await retryComputation(settings)
      }),
    )
    .addCommand(
      oneCommand('cancel', 'cancel a computation for all its callers', async (settings) => {
        const { cancelComputation } = await import('../computations/computation-actions.ts')
        await cancelComputation(settings)
      }),
    )
    .addHelpText('after', helpWith('heddle computations', 'heddle computations retry HANDLE'))
}

type OneSettings = ReturnType<typeof settingsOf> & { readonly handle: string }

function oneCommand(
  word: string,
  summary: string,
  work: (settings: OneSettings) => Promise<void>,
): Command {
  return withServerOptions(
    new Command(word).summary(summary),
    'one JSON object: { ok, handle, state }',
  )
    .description(`${summary[0]!.toUpperCase()}${summary.slice(1)}.`)
    .argument('<handle>', 'as the server has given it out')
    .addHelpText('after', helpWith(`heddle computations ${word} HANDLE`))
    .action((handle: string, flags: ServerFlags) => work({ ...settingsOf(flags), handle }))
}
