"""Response surfaces: P-splines fitted by REML, kriging of the residuals, and robust weights."""
