import { raceTests } from '../support/races.ts'

raceTests('H401', [
  {
    name: 'a refresh token that may be used once',
    check: 'this.http.post',
    act: 'this.refreshToken =',
    race: `export class Session {
  refreshToken = ''
  accessToken = ''
  async refresh() {
    const answer = await this.http.post('/token', { refresh_token: this.refreshToken })
    this.refreshToken = answer.refresh_token
    this.accessToken = answer.access_token
  }
}
`,
    fixed: `export class Session {
  refreshToken = ''
  accessToken = ''
  refreshing: Promise<void> | undefined
  refresh() {
    if (this.refreshing) return this.refreshing
    this.refreshing = this.exchange()
    return this.refreshing
  }
  private async exchange() {
    const answer = await this.http.post('/token', { refresh_token: this.refreshToken })
    this.refreshToken = answer.refresh_token
    this.accessToken = answer.access_token
  }
}
`,
  },
  {
    name: 'a handle that is stored without looking',
    act: 'this.elector = new',
    race: `export class Leader {
  elector: Elector | undefined
  async start() {
    await this.stop()
    this.elector = new Elector()
  }
  async stop() {
    await this.elector?.die()
  }
}
`,
    fixed: `export class Leader {
  elector: Elector | undefined
  async start() {
    if (this.elector) return
    this.elector = new Elector()
    await this.elector.ready()
  }
  async stop() {
    await this.elector?.die()
  }
}
`,
  },
])
