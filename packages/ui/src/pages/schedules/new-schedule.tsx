/** The dialog that adds a schedule. */
import { toast } from '../../app/toasts.tsx'
import { describeError } from '../../api/errors.ts'
import { listGraphs } from '../../api/runs.ts'
import { makeSchedule } from '../../api/schedules.ts'
import { ask } from '../../parts/confirm.tsx'
import { ChoiceField, TextField } from '../../parts/field.tsx'
import { formatDateTime } from '../../parts/format.ts'

const overlaps = [
  ['skip', 'skip this time'],
  ['queue', 'wait for its end'],
  ['cancel', 'cancel it'],
] as const

export async function askForSchedule(onChange: () => void): Promise<void> {
  let graphs: readonly { readonly name: string }[]
  try {
    graphs = (await listGraphs()).graphs
  } catch (error) {
    toast('bad', describeError(error))
    return
  }
  if (graphs.length === 0) {
    toast('bad', 'This server has no graphs: the served module exports none.')
    return
  }
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone
  const typed = {
    name: '',
    cron: '0 3 * * *',
    timezone: zone,
    overlap: 'skip' as (typeof overlaps)[number][0],
    graph: graphs[0]!.name,
  }
  ask({
    title: 'Add a schedule?',
    consequence: 'The graph runs at these times, as long as a server runs.',
    verb: 'Add the schedule',
    fields: (
      <>
        <TextField title="Name" into={typed} name="name" isRequired />
        <ChoiceField
          title="Graph"
          into={typed}
          name="graph"
          choices={graphs.map(({ name }) => [name, name] as const)}
        />
        <TextField
          title="When"
          into={typed}
          name="cron"
          isRequired
          hint="Minute, hour, day of the month, month, weekday: 0 3 * * *"
        />
        <TextField title="Time zone" into={typed} name="timezone" isRequired />
        <ChoiceField
          title="If the previous run has not ended"
          into={typed}
          name="overlap"
          choices={overlaps}
        />
      </>
    ),
    run: async () => {
      const { name, next } = await makeSchedule({ ...typed, name: typed.name.trim() })
      onChange()
      return next[0] === undefined
        ? `${name} is added.`
        : `${name} is due next at ${formatDateTime(next[0])}.`
    },
  })
}
