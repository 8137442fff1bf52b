import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { isError, run } from '@heddle/core'
import { openJournal } from '@heddle/core/lowlevel'
import { makeGraph } from './holder.ts'

const program = path.join(import.meta.dirname, 'holder.ts')

export async function twoProcesses(folder: string): Promise<string | undefined> {
  const journal = `sqlite:${path.join(folder, 'held.db')}`
  const holder = spawn(process.execPath, ['--conditions=heddle-source', program, journal], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(holder, 'exit')
  try {
    await once(holder.stdout, 'data')
    const ran: string[] = []
    const graph = makeGraph(() => ran.push('last'))
    let held: string
    {
      await using reader = await openJournal(journal, { readOnly: true })
      const [running] = await reader.runs()
      held = running!.id
      assert.equal(running!.state, 'running')
      assert.equal(await reader.valueOf(held, 'first'), 'done')
    }
    // A run has one writer; the file has as many as there are processes.
    await assert.rejects(run(graph, { journal, resume: held }), (error) => {
      assert.ok(isError(error, 'HDL_LOCKED'))
      assert.match(error.message, new RegExp(`pid ${holder.pid} .*holder\\.ts`))
      return true
    })
    assert.deepEqual(ran, [])
    const beside = await run(graph, { journal, title: 'beside it' })
    assert.deepEqual([beside.succeeded, ran], [['first', 'last'], ['last']])

    holder.kill('SIGKILL')
    await exited
    const ended = await run(graph, { journal, resume: held })
    assert.deepEqual([ended.reused, ended.succeeded, ran], [['first'], ['last'], ['last', 'last']])
  } finally {
    holder.kill('SIGKILL')
    await exited
  }
  return undefined
}
