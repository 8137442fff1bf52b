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
    for (const resume of [false, true]) {
      await assert.rejects(run(graph, { journal, resume }), (error) => {
        assert.ok(isError(error, 'HDL_LOCKED'))
        assert.match(error.message, new RegExp(`pid ${holder.pid} .*holder\\.ts`))
        return true
      })
    }
    assert.deepEqual(ran, [])
    {
      await using reader = await openJournal(journal, { readOnly: true })
      const [running] = await reader.runs()
      assert.equal(running!.state, 'running')
      assert.equal(await reader.valueOf(running!.id, 'first'), 'done')
    }

    holder.kill('SIGKILL')
    await exited
    const ended = await run(graph, { journal, resume: true })
    assert.deepEqual([ended.reused, ended.succeeded, ran], [['first'], ['last'], ['last']])
  } finally {
    holder.kill('SIGKILL')
    await exited
  }
  return undefined
}
