import { raceTests } from '../support/races.ts'

raceTests('H102', [
  {
    name: 'a remote question before the listener',
    check: 'isFinished',
    act: 'events.on',
    race: `export async function waitFor(job: Job, events: Events) {
  const finished = await isFinished(job.id)
  if (finished) return
  await new Promise((resolve) => {
    events.on('completed', resolve)
  })
}
`,
    fixed: `export async function waitFor(job: Job, events: Events) {
  await new Promise<void>((resolve) => {
    events.on('completed', () => resolve())
    void isFinished(job.id).then((finished) => {
      if (finished) resolve()
    })
  })
}
`,
  },
  {
    name: 'a local state before a suspension',
    check: 'if (this.ready)',
    act: 'child.once',
    race: `export class Child {
  ready = false
  async waitReady(child: Emitter) {
    if (this.ready) return
    await settle()
    await new Promise((resolve) => {
      child.once('ready', resolve)
    })
  }
}
`,
    fixed: `export class Child {
  ready = false
  async waitReady(child: Emitter) {
    await settle()
    if (this.ready) return
    await new Promise((resolve) => {
      child.once('ready', resolve)
    })
  }
}
`,
  },
])
