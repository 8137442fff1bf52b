/** The dialog that starts a run of a graph that the server has. */
import { link } from '../../app/route.ts'
import { toast } from '../../app/toasts.tsx'
import { describeError } from '../../api/errors.ts'
import { listGraphs, startRun } from '../../api/runs.ts'
import { ask } from '../../parts/confirm.tsx'
import { ChoiceField, TextField } from '../../parts/field.tsx'
import { parseTyped } from '../../parts/parse-typed.ts'

export async function askForRun(): Promise<void> {
  let graphs
  try {
    graphs = (await listGraphs()).graphs
  } catch (error) {
    toast('bad', describeError(error))
    return
  }
  const [first] = graphs
  if (first === undefined) {
    toast('bad', 'This server has no graphs: the served module exports none.')
    return
  }
  const typed = { graph: first.name, args: '', title: '', key: '' }
  ask({
    title: 'Start a run?',
    consequence: 'The graph runs on this server, with its limits.',
    verb: 'Start the run',
    fields: (
      <>
        <ChoiceField
          title="Graph"
          into={typed}
          name="graph"
          choices={graphs.map(({ name, description }) => [
            name,
            description === null ? name : `${name}: ${description}`,
          ])}
        />
        <TextField
          title="Arguments, as JSON"
          into={typed}
          name="args"
          type="json"
          hint="What the graph is made from. Leave it empty for a graph without arguments."
        />
        <TextField title="Title" into={typed} name="title" />
        <TextField
          title="Key"
          into={typed}
          name="key"
          hint="A run that has this key already is opened instead of a new one."
        />
      </>
    ),
    run: async () => {
      const { run } = await startRun({
        graph: typed.graph,
        ...(typed.args !== '' && { args: parseTyped(typed.args, 'The field “Arguments”') }),
        ...(typed.title !== '' && { title: typed.title }),
        ...(typed.key !== '' && { key: typed.key }),
      })
      const text = 'The run has started.'
      return run === null ? text : { text, to: link(['runs', run]) }
    },
  })
}
