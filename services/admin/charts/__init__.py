"""Options of the charts on pages, as ECharts takes them; ``static/charts.js`` draws them."""
