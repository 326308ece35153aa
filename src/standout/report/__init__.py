"""The report: findings made readable. Reads plain data, computes no attack, holds no label that was not asked for."""
