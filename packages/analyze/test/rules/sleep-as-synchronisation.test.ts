import { raceTests } from '../support/races.ts'

raceTests('H405', [
  {
    name: 'a sleep that is hoped to be long enough',
    check: 'sleep',
    act: 'this.server',
    race: `export class App {
  server: Server | undefined
  async start() {
    void this.listen()
    await sleep(200)
    return this.server.port
  }
  async listen() {
    this.server = await bind()
  }
}
`,
    fixed: `export class App {
  server: Server | undefined
  async start() {
    await this.listen()
    return this.server.port
  }
  async listen() {
    this.server = await bind()
  }
}
`,
  },
])
