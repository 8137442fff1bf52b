import { render } from 'preact'
import './styles/tokens.css'
import './styles/base.css'
import './styles/layout.css'
import './styles/parts.css'
import './styles/run.css'
import { Shell } from './app/shell.tsx'
import { applyTheme } from './app/theme.ts'

applyTheme()
render(<Shell />, document.getElementById('app')!)
