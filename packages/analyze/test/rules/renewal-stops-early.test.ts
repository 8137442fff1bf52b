import { raceTests } from '../support/races.ts'

raceTests('H305', [
  {
    name: 'a heartbeat that ends before the upload',
    check: 'clearInterval',
    act: 'upload',
    race: `export async function run(task: Task) {
  const heartbeat = setInterval(() => task.extend(), 1_000)
  const result = await compute(task)
  clearInterval(heartbeat)
  await task.upload(result)
}
`,
    fixed: `export async function run(task: Task) {
  const heartbeat = setInterval(() => task.extend(), 1_000)
  try {
    const result = await compute(task)
    await task.upload(result)
  } finally {
    clearInterval(heartbeat)
  }
}
`,
  },
])
