import { render } from 'preact'
import './styles/tokens.css'
import './styles/base.css'
import './styles/layout.css'
import './styles/parts.css'
import './styles/run.css'
import './styles/pages.css'
import { loadSession } from './api/client.ts'
import { loadFeatures } from './api/features.ts'
import { Shell } from './app/shell.tsx'
import { applyTheme } from './app/theme.ts'

applyTheme()
void loadSession()
void loadFeatures()
render(<Shell />, document.getElementById('app')!)
