import { Command, InvalidArgumentError, Option } from 'commander'
import type { AddSettings } from '../schedules/schedule-actions.ts'
import type { ServerSettings } from '../schedules/call-server.ts'
import { helpWith, settingsOf, withServerOptions, type ServerFlags } from './server-options.ts'

/** `heddle schedules [list | show | add | pause | resume | delete]` */
export function schedulesCommand(): Command {
  return new Command('schedules')
    .description(
      'Graphs that a server runs by the clock: those that its module exports (exported:NAME) and those made here\n' +
        'or over HTTP (made:NAME).',
    )
    .addCommand(
      withServerOptions(
        new Command('list').summary('list the schedules (the default)'),
        'one JSON object: { ok, schedules }',
      )
        .description('List the schedules with their next due time.')
        .addHelpText('after', helpWith('heddle schedules'))
        .action(async (flags: ServerFlags) => {
          const { listSchedules } = await import('../schedules/schedule-actions.ts')
          await listSchedules(settingsOf(flags))
        }),
      { isDefault: true },
    )
    .addCommand(
      oneCommand('show', 'show the next due times and the last firings', async (settings) => {
        const { showSchedule } = await import('../schedules/schedule-actions.ts')
        await showSchedule(settings)
      }),
    )
    .addCommand(addCommand())
    .addCommand(
      oneCommand('pause', 'pause a schedule: due times are left out', async (settings) => {
        const { pauseSchedule } = await import('../schedules/schedule-actions.ts')
        await pauseSchedule({ ...settings, paused: true })
      }),
    )
    .addCommand(
      oneCommand('resume', 'resume a schedule that was paused', async (settings) => {
        const { pauseSchedule } = await import('../schedules/schedule-actions.ts')
        await pauseSchedule({ ...settings, paused: false })
      }),
    )
    .addCommand(
      oneCommand('delete', 'delete a schedule that was made over HTTP', async (settings) => {
        const { deleteSchedule } = await import('../schedules/schedule-actions.ts')
        await deleteSchedule(settings)
      }),
    )
    .addHelpText(
      'after',
      helpWith('heddle schedules', "heddle schedules add report '0 3 * * *' --graph report"),
    )
}

function oneCommand(
  word: string,
  summary: string,
  work: (settings: ServerSettings & { readonly id: string }) => Promise<void>,
): Command {
  return withServerOptions(new Command(word).summary(summary), 'one JSON object: { ok, … }')
    .description(`${summary[0]!.toUpperCase()}${summary.slice(1)}.`)
    .argument('<id>', 'exported:NAME or made:NAME')
    .addHelpText('after', helpWith(`heddle schedules ${word} made:report`))
    .action((id: string, flags: ServerFlags) => work({ ...settingsOf(flags), id }))
}

interface AddFlags extends ServerFlags {
  readonly graph: string
  readonly timezone?: string
  readonly overlap?: AddSettings['overlap']
  readonly missed?: AddSettings['missed']
  readonly args?: { readonly value: unknown }
}

function addCommand(): Command {
  const command = new Command('add')
    .summary('make a schedule')
    .description('Make a schedule for a graph that the served module registers.')
    .argument('<name>', 'letters, digits, spaces and . _ -')
    .argument(
      '<cron>',
      'minute, hour, day, month, weekday: "0 3 * * *"; six fields begin with seconds',
    )
    .requiredOption('--graph <name>', 'the graph: GET /graphs lists them')
    .option('--timezone <zone>', 'such as Europe/Berlin (default: UTC)')
    .addOption(
      new Option(
        '--overlap <way>',
        'while the run before has not ended: skip this time (the default), wait, or cancel that run',
      ).choices(['skip', 'queue', 'cancel']),
    )
    .addOption(
      new Option(
        '--missed <way>',
        'times that passed while no server ran: one run for all (the default), one each, none',
      ).choices(['once', 'all', 'skip']),
    )
    .addOption(
      new Option('--args <json>', 'given to the function that makes the graph').argParser(readJson),
    )
  return withServerOptions(command, 'one JSON object: { ok, schedule }')
    .addHelpText(
      'after',
      helpWith("heddle schedules add report '0 3 * * *' --graph report --timezone Europe/Berlin"),
    )
    .action(async (name: string, cron: string, flags: AddFlags) => {
      const { addSchedule } = await import('../schedules/schedule-actions.ts')
      const { graph, timezone, overlap, missed, args } = flags
      const settings = { name, cron, graph, timezone, overlap, missed, args: args?.value }
      await addSchedule({ ...settingsOf(flags), ...settings })
    })
}

function readJson(text: string): { readonly value: unknown } {
  try {
    return { value: JSON.parse(text) as unknown }
  } catch {
    throw new InvalidArgumentError('Expected JSON, such as {"days":7}.')
  }
}
